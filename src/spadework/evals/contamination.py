"""Contamination check: find benchmark items in documents by the word n-grams that both contain.

Texts are compared as lower-case words. An item counts as found in a document when they share 13 consecutive words. A
shared sequence of 8 words is reported too, as weaker evidence. A sequence that occurs in more than ten items of a
suite belongs to the suite's phrasing and is ignored.
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
"""The most items of a suite that may share a sequence of words before it counts as the suite's phrasing."""
_WORD = re.compile(r"\w+")

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One document and one benchmark item that share a sequence of words."""

    document: str
    suite: str
    item: str
    length: int
    """13 where they share 13 consecutive words, else 8."""
    share: float
    """Share of the item's 8-word sequences that occur in the document."""
    phrase: str
    """The first shared sequence, as normalised words."""


@dataclass(frozen=True, slots=True)
class SuiteOverlap:
    """How much of a suite was found in the documents checked so far."""

    suite: str
    items: int
    short: int
    """Number of items with fewer than 8 words, which cannot be checked."""
    found: Mapping[int, int]
    """Length of the shared sequence (13 or 8) -> number of items that share one with a document."""

    @property
    def share(self) -> float:
        """Share of the items of which a document holds 13 consecutive words."""
        return self.found[LONG] / self.items if self.items else 0.0


def words(text: str) -> list[str]:
    """Split a text into lower-case words, without punctuation, after NFKC normalisation."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def runs(tokens: list[str], length: int) -> Iterator[Run]:
    """Every sequence of ``length`` consecutive words, in order."""
    return zip(*(tokens[start:] for start in range(length)), strict=False)


class Detector:
    """Index of the suites' word sequences, against which documents are checked one at a time; none is kept."""

    def __init__(self) -> None:
        self._where: dict[Run, list[int]] = {}
        self._items: list[tuple[str, str, int, frozenset[Run]]] = []
        self._counts: dict[str, Counter[str]] = {}
        self._found: dict[tuple[str, int], set[int]] = defaultdict(set)

    def add_suite(self, suite: str, texts: Iterable[tuple[str, str]]) -> None:
        """Add a suite's items, given as (id, text), to the index."""
        counts = self._counts[suite] = Counter()
        item_words = {name: words(text) for name, text in texts}
        often: Counter[Run] = Counter()
        for tokens in item_words.values():
            often.update(set(runs(tokens, SHORT)))
        phrasing = {run for run, count in often.items() if count > PHRASING}
        for name, tokens in item_words.items():
            own = set(runs(tokens, SHORT)) - phrasing
            counts["items"] += 1
            counts["short"] += len(tokens) < SHORT
            # A long sequence is phrasing only if every short sequence within it is.
            long = frozenset(run for run in runs(tokens, LONG) if not phrasing.issuperset(runs(list(run), SHORT)))
            place = len(self._items)
            self._items.append((suite, name, len(own), long))
            for run in own:
                self._where.setdefault(run, []).append(place)

    def check(self, document: str, text: str) -> list[Hit]:
        """The items that a document shares words with, the strongest evidence first."""
        tokens = words(text)
        shared: dict[int, list[Run]] = defaultdict(list)
        for run in dict.fromkeys(runs(tokens, SHORT)):
            for place in self._where.get(run, ()):
                shared[place].append(run)
        long = set(runs(tokens, LONG)) if shared else set()
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
        """For each suite, how much of it was found in all documents checked so far."""
        return [
            SuiteOverlap(
                suite, counts["items"], counts["short"], {n: len(self._found[suite, n]) for n in (LONG, SHORT)}
            )
            for suite, counts in self._counts.items()
        ]


async def suite_texts(suite: str, options: SuiteOptions) -> AsyncIterator[tuple[str, str]]:
    """Every problem of a suite as (id, text): from the suite's ``texts`` function, else the prompts of its questions.

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
