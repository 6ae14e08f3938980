"""What an environment is, and where it runs."""
