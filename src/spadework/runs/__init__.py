"""Run directories: what a run leaves behind, and how it is read."""
