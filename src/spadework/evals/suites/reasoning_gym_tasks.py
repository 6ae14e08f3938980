"""What a grader's process does with Reasoning-Gym: makes problems, and scores answers in a confined child.

Some of the package's scorers evaluate an answer as an expression, which is why they never see one in our own process.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

SIZE, SEED = 500, 42
"""Of every data set, in the paper."""


def prepare(name: str, config: dict[str, Any], index: int) -> dict[str, Any]:
    """The problem at an index: its question, and its stored answer (some tasks have none)."""
    entry = _entry(name, _Config(config), index)
    answer = entry["answer"]
    if answer is not None:  # loads what the scorer imports and reads at its first use: the child opens no file
        _dataset(name, _Config(config)).score_answer(answer, entry)
    return {"question": entry["question"], "answer": None if answer is None else str(answer)}


def judge(name: str, text: str, config: dict[str, Any], index: int) -> float:
    """The package's score of an answer, from 0 to 1; one that its scorer cannot read is wrong."""
    entry = _entry(name, _Config(config), index)
    try:
        return float(_dataset(name, _Config(config)).score_answer(text, entry))
    except (OSError, ImportError, MemoryError):
        raise  # not the answer's fault but the confinement's
    except Exception:  # noqa: BLE001 - whatever a scorer makes of what a model writes
        return 0.0


class _Config(dict[str, Any]):
    """Parameters as a key of a cache."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items())))


@functools.lru_cache(maxsize=128)
def _dataset(name: str, config: _Config) -> Any:
    return importlib.import_module("reasoning_gym").create_dataset(name, size=SIZE, seed=SEED, **config)


@functools.lru_cache(maxsize=1024)
def _entry(name: str, config: _Config, index: int) -> Any:
    return _dataset(name, config)[index]
