"""One module per suite. ``INFO`` describes the suite, and ``make(name, options)`` opens it as a ``Benchmark``."""
