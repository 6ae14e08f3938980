"""Virtual time, entropy and process facts: what Python code can ask of them is a function of the seed.

``source`` holds the seed and the time; each of the other modules replaces one kind of function in all modules that are
loaded. What cannot be replaced (sets that are ordered by address, numpy's own ``datetime64("now")``) is left to the
checks of programs, which run a program twice and compare.
"""

from __future__ import annotations

import sys

from . import clocks, entropy, process
from .source import SOURCE, reseed

__all__ = ["SOURCE", "install", "reseed"]


def install() -> None:
    """Replace clocks, entropy and process facts for good, in all that is loaded. Call once, before any program is."""
    if "sqlite3" in sys.modules:
        from . import sql  # here, since it loads sqlite3

        sql.install()
    entropy.install()
    clocks.install()
    process.install()
    if "numpy" in sys.modules:
        from . import arrays  # here, since it loads numpy

        arrays.install()
