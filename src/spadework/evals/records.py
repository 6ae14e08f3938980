"""The records of an evaluation: what is asked, what came of it, and what it holds for.

Every item asked stands in the denominator: one that ended in a fault scores 0, and the fault is kept beside it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from spadework.errors import ConfigError
from spadework.evals.bootstrap import mean_score, score_interval
from spadework.intervals import Interval
from spadework.types import Fault

FORMAT = 1
"""Of a result file."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to score: one try at one problem."""

    id: str
    group: str = ""
    """The subcategory; empty in a suite without any."""
    unit: str = ""
    """The problem, shared by its tries: what the bootstrap draws. Empty: the item is its own."""


def tries(unit: str, group: str, count: int) -> list[Item]:
    """The items of one problem: itself, or ``UNIT#0``, ``UNIT#1``, … where it is tried several times."""
    return [Item(unit if count == 1 else f"{unit}#{trial}", group, unit) for trial in range(count)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a benchmark says of one item."""

    score: float
    """From 0 to 1."""
    answer: str = ""
    """What was graded, as short text for people."""
    tokens: int = 0
    """Sampled."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Small plain JSON for people."""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One item's part of a result."""

    id: str
    group: str
    unit: str
    score: float
    answer: str = ""
    tokens: int = 0
    seconds: float = 0.0
    fault: Fault | None = None
    """Then the score is 0: a failure, never a gap."""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a number holds for. Two results of one setting may be compared; an unfinished one may be gone on with."""

    suite: str
    preset: str
    sampling: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the packages that bear on the score."""
    aggregate: Literal["items", "groups"] = "items"
    """Whether the score is the mean over items, or the plain mean of the groups' means."""
    data: str = ""
    """The user's file and its SHA-256, where there is one."""
    notes: tuple[str, ...] = ()
    """Where this departs from the published protocol."""
    selection: str = ""
    """Which part of the items was asked; empty for all."""

    def digest(self, subject: Mapping[str, str]) -> str:
        """Of the setting and of who is scored."""
        told = json.dumps([dataclasses.asdict(self), dict(subject)], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One suite's result: who, under which setting, and every item."""

    setting: Setting
    subject: Mapping[str, str]
    """Who was scored: the model, and the run and cycle or the endpoint."""
    items: tuple[ItemResult, ...]
    dropped: tuple[str, ...] = ()
    """Fields of the sampling that the endpoint refused, so that the answers were sampled without them."""

    @property
    def n(self) -> int:
        """The denominator: all items that were asked."""
        return len(self.items)

    @property
    def errors(self) -> int:
        """Items that ended in a fault."""
        return sum(item.fault is not None for item in self.items)

    def score(self) -> Interval:
        """The suite's score with its 95 % bootstrap interval over problems; ``n`` counts items."""
        return score_interval(self.items, by_group=self.setting.aggregate == "groups")

    def groups(self) -> dict[str, Interval]:
        """The same of each subcategory, in order of appearance; empty in a suite without any."""
        return {name: score_interval(items) for name, items in self._by_group().items()}

    def mean(self) -> float:
        """The suite's score without its interval, which takes longer."""
        return mean_score(self.items, by_group=self.setting.aggregate == "groups")

    def group_means(self) -> dict[str, float]:
        """The same of each subcategory."""
        return {name: mean_score(items) for name, items in self._by_group().items()}

    def _by_group(self) -> dict[str, list[ItemResult]]:
        groups: dict[str, list[ItemResult]] = {}
        for item in self.items:
            if item.group:
                groups.setdefault(item.group, []).append(item)
        return groups


def write_result(result: SuiteResult, path: Path) -> None:
    """Write a result file; the caller makes it whole or absent."""
    score = result.score()
    data = {
        "format": FORMAT,
        "setting": dataclasses.asdict(result.setting),
        "subject": dict(result.subject),
        "score": _plain(score),
        "groups": {name: _plain(interval) for name, interval in result.groups().items()},
        "n": result.n,
        "errors": result.errors,
        "dropped": list(result.dropped),
        "items": [dataclasses.asdict(item) for item in result.items],
    }
    path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", "utf-8")


def read_result(path: Path) -> SuiteResult:
    """Read what ``write_result`` wrote; the figures are worked out anew. Raises ``ConfigError``."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise ConfigError(f"{path}: a result of format {data['format']}; this version reads {FORMAT}")
        setting = {**data["setting"], "notes": tuple(data["setting"]["notes"])}
        items = tuple(item_from(row) for row in data["items"])
        return SuiteResult(Setting(**setting), data["subject"], items, tuple(data.get("dropped", ())))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: no result of an evaluation: {error!r}") from None


def read_results(folder: Path) -> dict[str, SuiteResult]:
    """Every result of a folder, or the one of a file, by suite. Raises ``ConfigError`` when there is none."""
    paths = [folder] if folder.is_file() else sorted(folder.glob("*.json"))
    results = [read_result(path) for path in paths]
    if not results:
        raise ConfigError(f"{folder}: holds no results (SUITE.json)")
    return {result.setting.suite: result for result in results}


def item_from(row: Mapping[str, Any]) -> ItemResult:
    """An item from its JSON."""
    fault = row["fault"]
    return ItemResult(**{**row, "fault": Fault(**fault) if fault else None})


def averages(results: Sequence[SuiteResult]) -> dict[str, float]:
    """``suite`` and ``suite/group`` -> mean, of all results."""
    means: dict[str, float] = {}
    for result in results:
        means[result.setting.suite] = result.mean()
        means |= {f"{result.setting.suite}/{name}": mean for name, mean in result.group_means().items()}
    return means


def _plain(interval: Interval) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN is no JSON
        for key, value in dataclasses.asdict(interval).items()
    }
