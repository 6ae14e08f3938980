"""Grounding documents: reading them, and making them from what is installed."""
