"""Engines that own the loop: they ask for a cycle's rows and train on them by themselves."""
