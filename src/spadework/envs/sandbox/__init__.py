"""Where generated programs run."""
