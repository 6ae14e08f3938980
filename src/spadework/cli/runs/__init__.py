"""Verbs that read a run."""
