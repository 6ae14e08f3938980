"""Grounding documents for the designer: read them from a corpus, or harvest them from installed packages."""
