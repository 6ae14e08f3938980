"""The environments in play, and pools on disk."""
