"""SPADE: self-play in adaptive synthetic executable environments (arXiv 2608.19197)."""

__version__ = "0.1.0"
