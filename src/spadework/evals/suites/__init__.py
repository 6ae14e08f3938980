"""One module a suite: ``INFO`` says what it is, ``make(options)`` gives its ``Benchmark``."""
