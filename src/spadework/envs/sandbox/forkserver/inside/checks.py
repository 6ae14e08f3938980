"""Checks what ``reset`` and ``step`` return; each kind of wrong result has its own code."""

from __future__ import annotations

import json
import math
from numbers import Real
from typing import Any

from . import wire

ROUNDING = 1e-6
"""The part of the bound by which a reward may lie beyond it and count as the bound."""


class Problem(Exception):
    """A fault of the program, which the child reports instead of a result."""

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.detail = code, message, detail


def _plain(value: Any) -> Any:
    """Turn arrays, numpy scalars and sets into what JSON can carry. Raises ``TypeError`` for anything else."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    raise TypeError(f"{type(value).__name__} is not JSON")


encode = json.JSONEncoder(default=_plain, separators=(",", ":")).encode


def plain(value: Any, what: str) -> str:
    """Return ``value`` as JSON. Raises ``Problem`` if JSON cannot carry it."""
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Problem(wire.BAD_TYPES, f"{what} cannot be written as JSON: {error}") from None


def five(result: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return the five values of a step; the older convention has four, without ``truncated``."""
    if isinstance(result, (tuple, list)):
        if len(result) == 5:
            return tuple(result)
        if len(result) == 4:
            observation, reward, done, info = result
            return observation, reward, done, False, info
    shape = f"{type(result).__name__} of {len(result)}" if isinstance(result, (tuple, list)) else type(result).__name__
    raise Problem(wire.BAD_TYPES, f"step() gave a {shape}, not (observation, reward, terminated, truncated, info)")


def observation(value: Any, limit: int, *, may_be_empty: bool) -> str:
    """Return an observation. Raises ``Problem`` if it is no string, too long, or empty where it must not be."""
    if not isinstance(value, str):
        raise Problem(wire.BAD_TYPES, f"the observation is a {type(value).__name__}, not a string")
    if len(value) > limit:
        raise Problem(wire.TOO_LONG, f"an observation of {len(value)} characters; the limit is {limit}")
    if not value and not may_be_empty:
        raise Problem(wire.BAD_TYPES, "reset() gave an empty observation")
    return value


def reward(value: Any, bound: float) -> float:
    """Return a reward. Raises ``Problem`` unless it is a finite number within the bound."""
    if type(value) is not float and not isinstance(value, Real):
        raise Problem(wire.BAD_TYPES, f"the reward is a {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if bound < abs(number) <= bound * (1 + ROUNDING):
        return math.copysign(bound, number)  # a sum of tenths may come out as 1.0000000000000002
    if not math.isfinite(number) or abs(number) > bound:
        raise Problem(wire.BAD_REWARD, f"a reward of {number}; it must be finite and lie in [-{bound}, {bound}]")
    return number


def flag(value: Any, name: str) -> bool:
    """Return a Boolean, which may be numpy's. Raises ``Problem`` for anything else."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise Problem(wire.BAD_TYPES, f"{name} is a {type(value).__name__}, not a bool")
    return bool(value)


def info(value: Any) -> str:
    """Return a step's info as JSON. Raises ``Problem`` unless it is a dictionary that JSON can carry."""
    if not isinstance(value, dict):
        raise Problem(wire.BAD_TYPES, f"info is a {type(value).__name__}, not a dict")
    return plain(value, "info") if value else "{}"


def tools(value: Any) -> str:
    """Return tool schemas as JSON. Raises ``Problem`` unless they are a list of dictionaries."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(tool, dict) for tool in value):
        raise Problem(wire.BAD_TYPES, "get_tools() did not give a list of dictionaries")
    return plain(value, "get_tools()") if value else "[]"
