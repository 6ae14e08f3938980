"""Rank environments and prompts by what a hint adds for a model; nothing is trained."""
