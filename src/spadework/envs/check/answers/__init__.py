"""Answers: where they leak, and how they are graded."""
