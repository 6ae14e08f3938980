"""The records of an evaluation: items, outcomes, the setting under which they were scored, and result files.

Every item that was asked counts in the denominator. An item that ended in a fault scores 0, and its fault is recorded.
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
"""Version of the result files' format."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to score: one try at one problem."""

    id: str
    group: str = ""
    """The subcategory; empty in a suite without any."""
    unit: str = ""
    """The problem that the item is a try at, which is the unit of the bootstrap. Empty where a problem has one item."""


def tries(unit: str, group: str, count: int) -> list[Item]:
    """The items of one problem: one named ``unit``, or ``UNIT#0``, ``UNIT#1``, … where there are several tries."""
    return [Item(unit if count == 1 else f"{unit}#{trial}", group, unit) for trial in range(count)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A benchmark's verdict on one item."""

    score: float
    """Score from 0 to 1."""
    answer: str = ""
    """The graded answer, as a short text for people."""
    tokens: int = 0
    """Number of tokens sampled."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Further details for people; a small object of plain JSON."""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one item."""

    id: str
    group: str
    unit: str
    score: float
    answer: str = ""
    tokens: int = 0
    seconds: float = 0.0
    fault: Fault | None = None
    """The fault that ended the item, if any. The score is then 0; the item is never left out."""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """The conditions of an evaluation. Results under equal settings can be compared, and unfinished ones continued."""

    suite: str
    preset: str
    sampling: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the packages that influence the score."""
    aggregate: Literal["items", "groups"] = "items"
    """Whether the score is the mean over items, or the plain mean of the groups' means."""
    data: str = ""
    """Name and SHA-256 of the user's data file; empty where the suite needs none."""
    notes: tuple[str, ...] = ()
    """Deviations from the published protocol."""
    selection: str = ""
    """The selection of items that was asked (``runner.Choice``); empty for all items."""

    def digest(self, subject: Mapping[str, str]) -> str:
        """A hash of the setting and of the subject that is evaluated."""
        text = json.dumps([dataclasses.asdict(self), dict(subject)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The result of one suite: the setting, the subject, and every item."""

    setting: Setting
    subject: Mapping[str, str]
    """What was evaluated: the model, and the run and cycle or the endpoint."""
    items: tuple[ItemResult, ...]
    dropped: tuple[str, ...] = ()
    """Sampling parameters that the endpoint refused; the replies were sampled without them."""

    @property
    def n(self) -> int:
        """Number of items that were asked: the denominator of the score."""
        return len(self.items)

    @property
    def errors(self) -> int:
        """Number of items that ended in a fault."""
        return sum(item.fault is not None for item in self.items)

    def score(self) -> Interval:
        """The suite's score with its 95 % bootstrap interval over problems; ``n`` counts items."""
        return score_interval(self.items, by_group=self.setting.aggregate == "groups")

    def groups(self) -> dict[str, Interval]:
        """The score of each subcategory with its interval, in order of appearance; empty in a suite without any."""
        return {name: score_interval(items) for name, items in self._by_group().items()}

    def mean(self) -> float:
        """The suite's score alone; cheaper than ``score``, which bootstraps an interval."""
        return mean_score(self.items, by_group=self.setting.aggregate == "groups")

    def group_means(self) -> dict[str, float]:
        """The score of each subcategory, without intervals."""
        return {name: mean_score(items) for name, items in self._by_group().items()}

    def _by_group(self) -> dict[str, list[ItemResult]]:
        groups: dict[str, list[ItemResult]] = {}
        for item in self.items:
            if item.group:
                groups.setdefault(item.group, []).append(item)
        return groups


def write_result(result: SuiteResult, path: Path) -> None:
    """Write a result file. Writing it atomically is the caller's task (``runs.files.write_whole``)."""
    score = result.score()
    data = {
        "format": FORMAT,
        "setting": dataclasses.asdict(result.setting),
        "subject": dict(result.subject),
        "score": _interval_json(score),
        "groups": {name: _interval_json(interval) for name, interval in result.groups().items()},
        "n": result.n,
        "errors": result.errors,
        "dropped": list(result.dropped),
        "items": [dataclasses.asdict(item) for item in result.items],
    }
    path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", "utf-8")


def read_result(path: Path) -> SuiteResult:
    """Read a file of ``write_result``. Scores are computed again from the items. Raises ``ConfigError``."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise ConfigError(f"{path}: the result has format {data['format']}, but this version reads format {FORMAT}")
        setting = {**data["setting"], "notes": tuple(data["setting"]["notes"])}
        items = tuple(item_from(row) for row in data["items"])
        return SuiteResult(Setting(**setting), data["subject"], items, tuple(data.get("dropped", ())))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: this is not a result file of `spadework eval`: {error!r}") from None


def read_results(folder: Path) -> dict[str, SuiteResult]:
    """The results in a folder, or the one in a file, by suite. Raises ``ConfigError`` when there is none."""
    paths = [folder] if folder.is_file() else sorted(folder.glob("*.json"))
    results = [read_result(path) for path in paths]
    if not results:
        raise ConfigError(f"{folder}: the folder holds no result files (SUITE.json)")
    return {result.setting.suite: result for result in results}


def item_from(row: Mapping[str, Any]) -> ItemResult:
    """Build an item result from its JSON object."""
    fault = row["fault"]
    return ItemResult(**{**row, "fault": Fault(**fault) if fault else None})


def averages(results: Sequence[SuiteResult]) -> dict[str, float]:
    """The means of all results and of their groups, under the names ``suite`` and ``suite/group``."""
    means: dict[str, float] = {}
    for result in results:
        means[result.setting.suite] = result.mean()
        means |= {f"{result.setting.suite}/{name}": mean for name, mean in result.group_means().items()}
    return means


def _interval_json(interval: Interval) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN is no JSON
        for key, value in dataclasses.asdict(interval).items()
    }
