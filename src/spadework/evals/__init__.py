"""Scores: benchmark suites and held-out environments, by whatever model satisfies ``Policy``."""
