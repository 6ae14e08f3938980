"""BFCL v4 multi-turn, with the official loop, tools, checker and data from the package ``bfcl-eval``."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from typing import Any

from spadework.evals.harness_policy import HarnessPolicy, in_thread
from spadework.evals.packages import INSTALL, require
from spadework.evals.records import Item, Outcome, Setting, tries
from spadework.evals.registry import (
    Preset,
    SuiteInfo,
    SuiteOptions,
    chosen_preset,
    sampling_settings,
    versions,
)
from spadework.policies.base import Policy, SamplingParams
from spadework.resources import cache_dir
from spadework.types import Key

VERSION = "2026.3.23"
CATEGORIES = ("base", "miss_func", "miss_param", "long_context")

INFO = SuiteInfo(
    summary="BFCL v4 multi-turn: base, missing functions, missing parameters, long context",
    presets={"paper": Preset(SamplingParams(max_tokens=4_096, temperature=0.0))},
    data_help=f"Data, tools and checker are in the wheel of `bfcl-eval`: {INSTALL}",
)


def make(name: str, options: SuiteOptions) -> Bfcl:
    """Open the suite. Raises ``ConfigError`` when the package is missing."""
    return Bfcl(name, options)


def texts(options: SuiteOptions) -> Iterator[tuple[str, str]]:
    """Each entry's requests as (id, text), for the contamination check."""
    harness = _harness()
    for category in CATEGORIES:
        for entry, _ in zip(*harness.load(category), strict=True):
            yield entry["id"], "\n".join(message["content"] for turn in entry["question"] for message in turn)


class Bfcl:
    """The benchmark of 200 entries per category. An entry scores 1 when the checker accepts every turn."""

    def __init__(self, name: str, options: SuiteOptions) -> None:
        self._harness = harness = _harness()
        preset = chosen_preset(INFO, options)
        self._sampling = preset.sampling
        self.setting = Setting(
            name, options.preset, sampling_settings(preset), versions("bfcl-eval"), aggregate="groups"
        )
        self._entries: dict[str, tuple[dict[str, Any], list[list[str]]]] = {}
        self._items: list[Item] = []
        for category in CATEGORIES:
            for entry, gold in zip(*harness.load(category), strict=True):
                self._entries[entry["id"]] = (entry, gold)
                self._items += tries(entry["id"], category, preset.trials)

    def items(self) -> Sequence[Item]:
        """All 800 entries, category by category; the tries at one entry follow each other."""
        return self._items

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Play one entry and check it."""
        entry, gold = self._entries[item.unit]
        speaker = HarnessPolicy(policy, self._sampling, key)
        with policy.attend():
            turns = await in_thread(lambda: self._harness.converse(speaker, copy.deepcopy(entry)))
        verdict = await in_thread(lambda: self._harness.judge(turns, gold, entry))
        last = turns[-1][-1] if turns and turns[-1] else ""
        why = "" if verdict["valid"] else f"{verdict['error_type']}: {str(verdict.get('error_message', ''))[:300]}"
        return Outcome(
            score=float(verdict["valid"]),
            answer=str(last)[:300],
            tokens=speaker.tokens,
            detail={"turns": len(turns), "replies": speaker.turns, "why": why},
        )

    async def close(self) -> None:
        """Nothing to close."""


def _harness() -> Any:
    require("bfcl-eval", VERSION, ("tree_sitter_java", "tree_sitter_javascript", "overrides", "tenacity", "filelock"))
    # On import, the package creates folders for results in the current directory unless it is given another place.
    os.environ.setdefault("BFCL_PROJECT_ROOT", str(cache_dir() / "bfcl"))
    from spadework.evals.harness import bfcl

    return bfcl
