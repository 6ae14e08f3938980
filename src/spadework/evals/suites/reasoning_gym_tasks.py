"""Code that runs in a confined grader process: it generates Reasoning-Gym problems and scores answers.

Some of the package's scorers evaluate an answer as a Python expression. So answers of a model are never scored in our
own process.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

SIZE, SEED = 500, 42
"""Size and seed of every data set, as in the paper."""


def prepare(name: str, config: dict[str, Any], index: int) -> dict[str, Any]:
    """The problem with an index: its question and its stored answer, which some tasks do not have."""
    entry = _entry(name, _Config(config), index)
    answer = entry["answer"]
    if answer is not None:  # scoring once loads all that the scorer needs: the confined child can open no files
        _dataset(name, _Config(config)).score_answer(answer, entry)
    return {"question": entry["question"], "answer": None if answer is None else str(answer)}


def judge(name: str, text: str, config: dict[str, Any], index: int) -> float:
    """The package's score of an answer, from 0 to 1; an answer on which the scorer raises scores 0."""
    entry = _entry(name, _Config(config), index)
    try:
        return float(_dataset(name, _Config(config)).score_answer(text, entry))
    except (OSError, ImportError, MemoryError):
        raise  # this comes from the confinement, not from the answer
    except Exception:  # noqa: BLE001 - a scorer may raise anything on a model's text
        return 0.0


class _Config(dict[str, Any]):
    """A task's parameters, hashable so that they can be a cache key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items())))


@functools.lru_cache(maxsize=128)
def _dataset(name: str, config: _Config) -> Any:
    return importlib.import_module("reasoning_gym").create_dataset(name, size=SIZE, seed=SEED, **config)


@functools.lru_cache(maxsize=1024)
def _entry(name: str, config: _Config, index: int) -> Any:
    return _dataset(name, config)[index]
