"""Arrays that start at zero: what memory held before is neither of the seed nor the same from play to play."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def install() -> None:
    """Fill what ``numpy.empty`` and ``numpy.empty_like`` make.

    Only the names of the package itself are replaced: inside numpy, zeros are made of what these give.
    """
    vars(numpy).update(
        empty=_filled(numpy.empty, numpy.zeros),
        empty_like=_filled(numpy.empty_like, numpy.zeros_like),
    )


def _filled(empty: Callable[..., Any], zeros: Callable[..., Any]) -> Callable[..., Any]:
    def make(*arguments: Any, **options: Any) -> Any:
        made = empty(*arguments, **options)
        # Arrays of objects are full of None from the start, and zeros would not be the same.
        return made if made.dtype.hasobject else zeros(*arguments, **options)

    return make
