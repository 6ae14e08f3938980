"""Evaluation: benchmark suites and held-out environments, run with any model that satisfies ``Policy``."""
