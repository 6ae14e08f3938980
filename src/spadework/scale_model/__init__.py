"""The scale model: a Llama of about a million parameters whose weights ship with the package."""
