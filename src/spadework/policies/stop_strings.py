"""Where a reply ends for engines that take stop strings badly, or not beside stop tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def cut_at_stop(tokens: Sequence[int], stops: Sequence[str], decode: Callable[[Sequence[int]], str]) -> int:
    """How many of ``tokens`` there are up to the end of the first stop string, itself included.

    A row is sampled from left to right, so what stands before the cut is as if sampling had stopped there. Found by
    halving: whether a stop string stands in a prefix only changes once.
    """

    def stopped(count: int) -> bool:
        text = decode(tokens[:count])
        return any(stop in text for stop in stops)

    if not stops or not stopped(len(tokens)):
        return len(tokens)
    low, high = 0, len(tokens)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if stopped(middle) else (middle, high)
    return high
