"""Verbs that make, check and play environments."""
