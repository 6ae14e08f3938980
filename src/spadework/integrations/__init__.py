"""Adapters for engines that own the training loop: they request each cycle's rows and train on them themselves."""
