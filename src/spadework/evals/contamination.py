"""Whether documents hold benchmark tasks: word n-grams that a document shares with an item of a suite.

Text is compared as lower-case words. An item counts as found in a document when they share a run of 13 words; runs of
8 are told too, as a softer sign. A run that more than ten items of a suite share is the suite's phrasing, not a task.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass

from spadework.evals.questions import QuestionSuite
from spadework.evals.registry import SuiteOptions, open_suite, suite_module

LONG, SHORT = 13, 8
PHRASING = 10
"""Items of a suite that may share a run before it counts as phrasing."""
_WORD = re.compile(r"\w+")

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One document and one item that share runs of words."""

    document: str
    suite: str
    item: str
    length: int
    """13 when they share a run of 13 words, else 8."""
    share: float
    """Of the item's runs of 8 words, how many stand in the document."""
    phrase: str
    """The first shared run, as normalised words."""


@dataclass(frozen=True, slots=True)
class SuiteOverlap:
    """What a whole suite shares with the documents seen."""

    suite: str
    items: int
    short: int
    """Items of fewer than 8 words: nothing can be said of them."""
    found: Mapping[int, int]
    """Items that share a run of 13, and of 8 words, with a document."""

    @property
    def share(self) -> float:
        """Of the items, how many share a run of 13 words."""
        return self.found[LONG] / self.items if self.items else 0.0


def words(text: str) -> list[str]:
    """The text as lower-case words, without punctuation and in one Unicode form."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def runs(tokens: list[str], length: int) -> Iterator[Run]:
    """Every run of ``length`` words, in order."""
    return zip(*(tokens[start:] for start in range(length)), strict=False)


class Detector:
    """Holds the suites' runs; documents pass by and leave nothing behind but their hits' counts."""

    def __init__(self) -> None:
        self._where: dict[Run, list[int]] = {}
        self._items: list[tuple[str, str, int, frozenset[Run]]] = []
        self._counts: dict[str, Counter[str]] = {}
        self._found: dict[tuple[str, int], set[int]] = defaultdict(set)

    def add_suite(self, suite: str, texts: Iterable[tuple[str, str]]) -> None:
        """Take in a suite's items as (id, text)."""
        counts = self._counts[suite] = Counter()
        tokens = {name: words(text) for name, text in texts}
        often: Counter[Run] = Counter()
        for told in tokens.values():
            often.update(set(runs(told, SHORT)))
        phrasing = {run for run, count in often.items() if count > PHRASING}
        for name, told in tokens.items():
            own = set(runs(told, SHORT)) - phrasing
            counts["items"] += 1
            counts["short"] += len(told) < SHORT
            long = frozenset(run for run in runs(told, LONG) if not phrasing.issuperset(runs(list(run), SHORT)))
            place = len(self._items)
            self._items.append((suite, name, len(own), long))
            for run in own:
                self._where.setdefault(run, []).append(place)

    def check(self, document: str, text: str) -> list[Hit]:
        """What a document shares with the suites, the most telling first."""
        told = words(text)
        shared: dict[int, list[Run]] = defaultdict(list)
        for run in dict.fromkeys(runs(told, SHORT)):
            for place in self._where.get(run, ()):
                shared[place].append(run)
        long = set(runs(told, LONG)) if shared else set()
        hits = [self._hit(document, place, found, long) for place, found in shared.items()]
        return sorted(hits, key=lambda hit: (-hit.length, -hit.share, hit.suite, hit.item))

    def _hit(self, document: str, place: int, found: list[Run], long: set[Run]) -> Hit:
        suite, name, own, item_long = self._items[place]
        whole = item_long & long
        self._found[suite, SHORT].add(place)
        if whole:
            self._found[suite, LONG].add(place)
        phrase = " ".join(min(whole) if whole else found[0])
        return Hit(document, suite, name, LONG if whole else SHORT, len(found) / own, phrase)

    def overlaps(self) -> list[SuiteOverlap]:
        """Each suite against all documents so far."""
        return [
            SuiteOverlap(
                suite, counts["items"], counts["short"], {n: len(self._found[suite, n]) for n in (LONG, SHORT)}
            )
            for suite, counts in self._counts.items()
        ]


async def suite_texts(suite: str, options: SuiteOptions) -> AsyncIterator[tuple[str, str]]:
    """Every problem of a suite as (id, text): by the suite's own ``texts``, else its questions as they are asked.

    Raises ``ConfigError`` when the suite's data or package is missing.
    """
    own = getattr(suite_module(suite), "texts", None)
    if own is not None:
        for pair in own(options):
            yield pair
        return
    benchmark = open_suite(suite, options)
    try:
        if not isinstance(benchmark, QuestionSuite):
            raise TypeError(f"{suite}: has neither texts() nor questions")
        for question in benchmark.questions:
            yield question.id, await benchmark.pose(question, 0)
    finally:
        await benchmark.close()
