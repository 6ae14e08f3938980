"""Rank environments and prompts by how much a hint helps a model, without any training."""
