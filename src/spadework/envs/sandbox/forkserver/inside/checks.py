"""The shapes that ``reset`` and ``step`` must give, each breach with its code."""

from __future__ import annotations

import json
import math
from numbers import Real
from typing import Any

from . import wire


class Problem(Exception):
    """What a child reports instead of a result."""

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.detail = code, message, detail


def _plain(value: Any) -> Any:
    """Arrays, numpy scalars and sets as JSON; anything else is refused."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    raise TypeError(f"{type(value).__name__} is not JSON")


encode = json.JSONEncoder(default=_plain, separators=(",", ":")).encode


def plain(value: Any, what: str) -> str:
    """``value`` as JSON, if JSON can carry it."""
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Problem(wire.BAD_TYPES, f"{what} cannot be written as JSON: {error}") from None


def five(result: Any) -> tuple[Any, Any, Any, Any, Any]:
    """What ``step`` gave, as five; four of the older convention have no ``truncated``."""
    if isinstance(result, (tuple, list)):
        if len(result) == 5:
            return tuple(result)
        if len(result) == 4:
            observation, reward, done, info = result
            return observation, reward, done, False, info
    shape = f"{type(result).__name__} of {len(result)}" if isinstance(result, (tuple, list)) else type(result).__name__
    raise Problem(wire.BAD_TYPES, f"step() gave a {shape}, not (observation, reward, terminated, truncated, info)")


def observation(value: Any, limit: int, *, may_be_empty: bool) -> str:
    """A string that is not too long."""
    if not isinstance(value, str):
        raise Problem(wire.BAD_TYPES, f"the observation is a {type(value).__name__}, not a string")
    if len(value) > limit:
        raise Problem(wire.TOO_LONG, f"an observation of {len(value)} characters; the limit is {limit}")
    if not value and not may_be_empty:
        raise Problem(wire.BAD_TYPES, "reset() gave an empty observation")
    return value


def reward(value: Any, bound: float) -> float:
    """A finite number within the bound."""
    if type(value) is not float and not isinstance(value, Real):
        raise Problem(wire.BAD_TYPES, f"the reward is a {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or abs(number) > bound:
        raise Problem(wire.BAD_REWARD, f"a reward of {number}; it must be finite and lie in [-{bound}, {bound}]")
    return number


def flag(value: Any, name: str) -> bool:
    """A Boolean, numpy's included."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise Problem(wire.BAD_TYPES, f"{name} is a {type(value).__name__}, not a bool")
    return bool(value)


def info(value: Any) -> str:
    """A dictionary that JSON can carry, as JSON."""
    if not isinstance(value, dict):
        raise Problem(wire.BAD_TYPES, f"info is a {type(value).__name__}, not a dict")
    return plain(value, "info") if value else "{}"


def tools(value: Any) -> str:
    """Tool schemas: a list of dictionaries that JSON can carry, as JSON."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(tool, dict) for tool in value):
        raise Problem(wire.BAD_TYPES, "get_tools() did not give a list of dictionaries")
    return plain(value, "get_tools()") if value else "[]"
