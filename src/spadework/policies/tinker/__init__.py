"""A model behind the Tinker API."""
