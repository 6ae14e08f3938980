"""Weakened programs that the checker finds, and harmless rewrites that it refuses, of 200 each.

Programs are the bundled games; a program and a mutation are drawn by a seed (``mutations.py`` has all mutations). A
weakened program counts where it plays otherwise than the original does before an episode is over: the oracle, silence,
wrong answers and those of other seeds are said to both on the same seeds. The others are told as equivalent. Found is
a program with an error or a warning that its original has not; refused is one with an error, in ``check`` and in
training alike. (What ``info`` holds is never shown to a player here, so that is a warning.) ``--quick``: 50 of each.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from figures import Figure, least, most, report, told
from mutations import HARMLESS, WEAKENED, Mutation

from spadework.domains.games import GAMES
from spadework.envs.check.findings import fatal
from spadework.envs.check.players import recite, solve
from spadework.envs.check.program import check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.check.seeds import draw_seeds
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.errors import ProgramError
from spadework.resources import shipped

FULL, QUICK, JOBS, SEED = 200, 50, 4, 20_261_201
SEEDS = 9
"""Seeds on which a mutant is compared with its original: a mutation may touch every third."""


@dataclass(frozen=True)
class Case:
    """A mutated program."""

    program: str
    mutation: str
    original: str
    source: str


@dataclass(frozen=True)
class Verdict:
    """What became of a case: codes of its errors, and of all findings that the original has not."""

    case: Case
    differs: bool
    codes: tuple[str, ...] = ()
    new: frozenset[str] = frozenset()


def cases(mutations: dict[str, Mutation], rng: random.Random) -> Iterable[Case]:
    """Every pair of a bundled game and a mutation that can be made, in an order drawn by ``rng``."""
    folder = shipped("examples") / "environments" / "games"
    programs = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}
    pairs = [(name, what) for name in programs for what in mutations]
    rng.shuffle(pairs)
    for name, what in pairs:
        source = mutations[what](programs[name])
        if source is not None and source != programs[name]:
            yield Case(name, what, programs[name], source)


async def judge(sandbox: Sandbox, case: Case, weakened: bool) -> Verdict:
    """Check a case, unless it is a weakened one that plays as its original does."""
    if weakened and await play(sandbox, case.original, case.original) == await play(
        sandbox, case.source, case.original
    ):
        return Verdict(case, differs=False)
    before, after = [
        await check_program(sandbox, source, RuntimeChecks(), GAMES) for source in (case.original, case.source)
    ]
    known = {finding.code for finding in before.findings}
    new = frozenset(finding.code for finding in after.findings if finding.severity != "info") - known
    return Verdict(case, True, tuple(finding.code for finding in fatal(after.findings)), new)


async def play(sandbox: Sandbox, source: str, original: str) -> object:
    """What ``source`` shows when the original's oracle and players who err play it; a fault is told by its code."""
    seeds = draw_seeds(SEEDS)
    session, one, other = [await sandbox.open(text, Limits()) for text in (source, original, original)]
    try:
        turns = min(session.max_turns, 8)
        solved = [each.actions for each in await solve(one, other, seeds, GAMES, turns)]
        answers = [actions[-1] for actions in solved]
        said: list[tuple[int, Sequence[str]]] = [(seed, actions) for seed, actions in zip(seeds, solved, strict=True)]
        for place, seed in enumerate(seeds):
            right = GAMES.dialogue.decode(answers[place]) or ""
            near = [f"{right}7", right[: (len(right) + 1) // 2], right[::-1], ".*", "nan", "1", "qzx " * 20]
            wrong = ["", answers[place - 1], *map(GAMES.dialogue.encode, [each for each in near if each])]
            said += [(seed, [action] * turns) for action in wrong]
        infos = [(await session.reset(seed)).info for seed in seeds[:2]]
        solutions = [(await session.reset(seed), await session.call("solution"))[1] for seed in seeds]
        return [infos, solutions, *(each.transcript for each in await recite(session, said))]
    except ProgramError as error:
        return error.fault.code
    finally:
        for each in (session, one, other):
            await each.close()


async def run(mutations: dict[str, Mutation], count: int, weakened: bool) -> list[Verdict]:
    """Verdicts until ``count`` cases were checked."""
    found: list[Verdict] = []
    drawn = iter(cases(mutations, random.Random(SEED)))
    async with ForkServer() as sandbox:
        results = in_order(drawn, lambda case: judge(sandbox, case, weakened), JOBS)
        async for _, verdict in results:
            if isinstance(verdict, Exception):
                raise verdict
            found.append(verdict)
            if sum(one.differs for one in found) == count:
                break
        await results.aclose()  # type: ignore[attr-defined]
    return found


def measure(quick: bool) -> Iterable[Figure]:
    """All figures; what was missed or refused wrongly is named on the standard error."""
    count = QUICK if quick else FULL
    weak = asyncio.run(run(WEAKENED, count, weakened=True))
    played = [one for one in weak if one.differs]
    for one in played:
        if not one.new:
            print(f"missed: {one.case.program}: {one.case.mutation}", file=sys.stderr)
    yield told("weakened programs", len(played), "")
    yield told("equivalent ones, left out", len(weak) - len(played), "")
    yield least("weakened programs found", sum(bool(one.new) for one in played) / len(played), "", 0.95)
    yield told("weakened programs refused", sum(bool(one.codes) for one in played) / len(played), "")
    good = asyncio.run(run(HARMLESS, count, weakened=False))
    for one in good:
        if one.codes:
            print(f"refused: {one.case.program}: {one.case.mutation}: {', '.join(one.codes)}", file=sys.stderr)
    yield told("harmless rewrites", len(good), "")
    yield most("harmless rewrites refused", sum(bool(one.codes) for one in good) / len(good), "", 0.02)


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
