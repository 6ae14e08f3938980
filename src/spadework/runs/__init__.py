"""Run directories: how a run is stored, and how it is read."""
