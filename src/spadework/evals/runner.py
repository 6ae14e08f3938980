"""Runs a suite item by item. Each result is written when its item ends, and a rerun scores only the missing items.

FOLDER/SUITE.items.jsonl    while the suite runs: a header with the setting's digest, then one line per item
FOLDER/SUITE.json           the result, written at the end; the file above is then deleted
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from spadework.errors import ConfigError, FaultError, RunError, SpadeworkError, blames_machinery, cause_lines, causes
from spadework.evals.benchmark import Benchmark
from spadework.evals.records import Item, ItemResult, Setting, SuiteResult, item_from, read_result, write_result
from spadework.observer import NullObserver, Observer
from spadework.policies.base import Dropping, Policy
from spadework.runs.files import write_whole
from spadework.significance import scipy_stats
from spadework.types import Fault

LOOK_AFTER = 8
"""A suite stops when each of this many first items ended in a fault."""
RAISED = "raised"
"""Fault code of an item whose harness or scorer raised an unexpected exception."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The selection of items to score."""

    limit: int | None = None
    """The most problems to take of each group; all tries at a problem are taken."""
    only: tuple[str, ...] = ()
    """Names of groups, or prefixes of item ids; empty takes all."""

    def of(self, items: Sequence[Item]) -> list[tuple[int, Item]]:
        """The selected items, each with its index among all items. Raises ``ConfigError`` when there is none."""
        kept: list[tuple[int, Item]] = []
        units: dict[str, set[str]] = defaultdict(set)
        for place, item in enumerate(items):
            if self.only and not any(item.group == name or item.id.startswith(name) for name in self.only):
                continue
            own, unit = units[item.group], item.unit or item.id
            if self.limit is None or unit in own or len(own) < self.limit:
                own.add(unit)
                kept.append((place, item))
        if not kept:
            groups = ", ".join(dict.fromkeys(item.group for item in items if item.group)) or "none"
            raise ConfigError(
                f"--only {' '.join(self.only)}: this matches no group and no item id; the groups are: {groups}"
            )
        return kept

    def __str__(self) -> str:
        parts = [f"limit {self.limit}"] if self.limit is not None else []
        return ", ".join(parts + ([f"only {' '.join(self.only)}"] if self.only else []))


@dataclass(frozen=True, slots=True)
class Where:
    """Where results are written, and how a suite is run."""

    folder: Path
    jobs: int = 8
    """How many items are scored at a time; 0 for all at once, which a deterministic engine needs."""
    choice: Choice = Choice()
    retry: bool = False
    """Whether items that ended in a fault are tried again."""
    max_fault_share: float = 0.1
    """The largest share of items that endpoint, model, sandbox or scorer may fail; see ``config.EvalSection``."""


async def run_benchmark(
    benchmark: Benchmark, policy: Policy, subject: Mapping[str, str], where: Where, observer: Observer | None = None
) -> SuiteResult:
    """Score every chosen item that has no result yet, and write the suite's result.

    Raises:
        ConfigError: the folder holds results of another setting or subject, or scipy is missing.
        RunError: the first items all ended in faults, or the machinery failed too many items. The next call tries
            those items again.
    """
    watcher = observer or NullObserver()
    setting = dataclasses.replace(benchmark.setting, selection=str(where.choice))
    chosen = where.choice.of(benchmark.items())
    scipy_stats()  # the result needs scipy: fail before the first request rather than after the last
    book = _Book(where.folder, setting, subject, retry=where.retry)
    missing = [(place, item) for place, item in chosen if item.id not in book.results]
    guard = _FaultGuard(setting.suite, len(chosen), where.max_fault_share)
    for _, item in chosen:
        if item.id in book.results:
            guard.take(book.results[item.id])

    def keep(one: ItemResult) -> None:
        book.add(one)
        guard.check(one)
        watcher.advance(one.tokens, one.score, one.fault)

    try:
        watcher.stage(None, setting.suite, len(chosen), len(chosen) - len(missing))
        await _score_all(benchmark, policy, missing, where.jobs, keep)
    finally:
        book.close()
    dropped = policy.dropped if isinstance(policy, Dropping) else ()
    result = SuiteResult(setting, dict(subject), tuple(book.results[item.id] for _, item in chosen), dropped)
    book.finish(result)
    return result


async def _score_all(
    benchmark: Benchmark,
    policy: Policy,
    items: Sequence[tuple[int, Item]],
    jobs: int,
    keep: Callable[[ItemResult], None],
) -> None:
    """Score ``jobs`` items at a time and pass each result to ``keep``. An exception from ``keep`` ends the suite."""
    gate = asyncio.Semaphore(jobs or max(1, len(items)))

    async def one(place: int, item: Item) -> None:
        async with gate:
            with policy.attend():
                # The key is the item's index among all items, so a rerun or a selection samples the same replies.
                result = await score_item(benchmark, policy, item, (place,))
        keep(result)

    try:
        async with asyncio.TaskGroup() as group:
            with policy.attend():
                for place, item in items:
                    group.create_task(one(place, item))
                await asyncio.sleep(0)  # lets every task begin to attend before the engine may start a batch
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def score_item(benchmark: Benchmark, policy: Policy, item: Item, key: tuple[int, ...]) -> ItemResult:
    """Score one item. A fault becomes part of the result, and so does an exception of a harness or a scorer."""
    began = time.monotonic()
    unit = item.unit or item.id
    try:
        outcome = await benchmark.score(policy, item, key)
    except Exception as error:
        if isinstance(error, SpadeworkError) and not isinstance(error, FaultError):
            raise  # a ConfigError or RunError concerns the whole suite, not this item
        spent = round(time.monotonic() - began, 3)
        return ItemResult(item.id, item.group, unit, 0.0, seconds=spent, fault=_fault(error))
    return ItemResult(
        id=item.id,
        group=item.group,
        unit=unit,
        score=min(1.0, max(0.0, float(outcome.score))),
        answer=outcome.answer[:2_000],
        tokens=outcome.tokens,
        seconds=round(time.monotonic() - began, 3),
        detail=outcome.detail,
    )


def _fault(error: Exception) -> Fault:
    """The fault that an exception stands for; an unexpected exception is a grader fault that keeps its traceback."""
    if isinstance(error, FaultError):
        return error.fault
    message = f"{type(error).__name__}: {error}"[:300]
    return Fault("grader", RAISED, message, "".join(traceback.format_exception(error))[-4_000:])


def _is_ours(fault: Fault) -> bool:
    """Whether the fault lies with the machinery or a scorer rather than with the model under test."""
    return blames_machinery(fault) or fault.code == RAISED


class _FaultGuard:
    """Stops a suite when the machinery fails rather than the model: a dead server's zeros must not become a score.

    Args:
        suite: the suite's name, for the error message.
        total: the number of selected items.
        most: the largest share of them that the machinery may fail; one item always may.
    """

    def __init__(self, suite: str, total: int, most: float) -> None:
        self._suite, self._total, self._most = suite, total, most
        self._ended = self._ours = 0
        self._faults: list[Fault] = []

    def take(self, result: ItemResult) -> None:
        """Count an item of an earlier run."""
        self._ended += 1
        if result.fault is not None:
            self._faults.append(result.fault)
            self._ours += _is_ours(result.fault)

    def check(self, result: ItemResult) -> None:
        """Count an item that has just ended. Raises ``RunError`` when too many items were lost for a score."""
        self.take(result)
        if len(self._faults) == self._ended >= min(LOOK_AFTER, self._total):
            self._stop(f"all of the first {self._ended} items ended in a fault")
        if self._ours > max(1.0, self._most * self._total):
            self._stop(
                f"{self._ours} of {self._total} items failed by the machinery, more than eval.max_fault_share = "
                f"{self._most:g} allows (endpoint, model, sandbox or scorer)"
            )

    def _stop(self, why: str) -> NoReturn:
        found = "; ".join(cause_lines(causes(self._faults), most=3))
        raise RunError(f"{self._suite}: {why}, so there is no score: {found}. The same command tries them again")


class _Book:
    """The item results so far, in memory and in the file of the unfinished suite."""

    def __init__(self, folder: Path, setting: Setting, subject: Mapping[str, str], *, retry: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._result, self._path = folder / f"{setting.suite}.json", folder / f"{setting.suite}.items.jsonl"
        self._digest = setting.digest(subject)
        self.results: dict[str, ItemResult] = {}
        if self._result.exists() and not self._path.exists():
            self._take_result(setting, subject)
        if self._path.exists():
            self._take_items(setting)
        if retry or self._path.exists():  # continuing an unfinished suite retries its faulty items
            self.results = {name: one for name, one in self.results.items() if one.fault is None}
        write_whole(self._path, self._write)
        self._file = self._path.open("a", encoding="utf-8")

    def add(self, result: ItemResult) -> None:
        """Store one item's result."""
        self.results[result.id] = result
        self._file.write(_line(dataclasses.asdict(result)))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def finish(self, result: SuiteResult) -> None:
        """Write the suite's result and delete the file of items."""
        # The order matters: a kill between the two leaves both files, and the next run reads the items again.
        write_whole(self._result, lambda path: write_result(result, path))
        self._path.unlink()

    def _write(self, path: Path) -> None:
        rows = [{"digest": self._digest}, *(dataclasses.asdict(one) for one in self.results.values())]
        path.write_text("".join(map(_line, rows)), "utf-8")

    def _take_result(self, setting: Setting, subject: Mapping[str, str]) -> None:
        old = read_result(self._result)
        if old.setting.digest(old.subject) != self._digest:
            raise ConfigError(
                f"{self._result}: the file holds a result of {_differences(old, setting, subject)}; give "
                "another --out folder, or move the file away"
            )
        self.results = {item.id: item for item in old.items}

    def _take_items(self, setting: Setting) -> None:
        """Read the items of an unfinished run. Text after the last line end is a line that a kill cut off: drop it."""
        try:
            head, *rows = [json.loads(line) for line in self._path.read_text("utf-8").split("\n")[:-1]]
            same = head["digest"] == self._digest
            self.results = {one.id: one for one in map(item_from, rows)}
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{self._path}: the unfinished run cannot be read ({error!r}); move the file away"
            ) from None
        if not same:
            raise ConfigError(
                f"{self._path}: the file holds items of {setting.suite} under other settings or of another model; give "
                "another --out folder, or move the file away"
            )


def _line(row: Mapping[str, object]) -> str:
    return json.dumps(row) + "\n"


def _differences(old: SuiteResult, setting: Setting, subject: Mapping[str, str]) -> str:
    """The fields in which a stored result differs from what is asked for now, as text."""
    before = {**dataclasses.asdict(old.setting), "subject": dict(old.subject)}
    now = {**dataclasses.asdict(setting), "subject": dict(subject)}
    changed = [
        f"{name} {before[name]!r} (now {now[name]!r})" for name in now if _as_json(before[name]) != _as_json(now[name])
    ]
    return "; ".join(changed)


def _as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
