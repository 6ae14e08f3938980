"""Verbs that score models on benchmarks."""
