"""The checks of an environment program, the same for ``spadework check`` and for training."""
