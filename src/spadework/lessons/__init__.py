"""What the scale model is taught, all of it by rules: documents, programs, hints, and plays with their work."""
