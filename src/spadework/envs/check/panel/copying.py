"""Players who copy out of what they are shown and must not win by it: the first observation, or the feedback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from spadework.envs.check.answers.leaks import marked
from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import Bench, says_what_wins, wins_often
from spadework.envs.check.players import COPIERS, recite


async def check(bench: Bench) -> list[Finding]:
    """Every one of these players in turn."""
    return [finding for one in (_copied, _feedback) for finding in await one(bench)]


async def _copied(bench: Bench) -> list[Finding]:
    """Answers marked as such in the first observation, or won by copying its last number, word or quotation."""
    plays = [(each, answer) for each in bench.solved if (answer := bench.dialogue.decode(each.actions[-1]))]
    shown = [answer for each, answer in plays if marked(each.opening, answer)]
    if plays and len(shown) >= bench.settings.min_copied_wins * len(plays):
        return [Finding("ENV501", f"the first observation marks {shown[0]!r:.60} as the answer")]
    players = {_what(copier): partial(_copied_by, copier, bench) for copier in COPIERS}
    winner = await says_what_wins(bench, "copier", players, bench.settings.min_copied_wins)
    return [Finding("ENV501", f"repeating the {winner} of what is shown wins")] if winner else []


def _what(copier: Callable[[str], str | None]) -> str:
    return copier.__name__.replace("_", " ")


def _copied_by(copier: Callable[[str], str | None], bench: Bench, text: str) -> str:
    return bench.dialogue.encode(copier(text) or "-")


async def _feedback(bench: Bench) -> list[Finding]:
    """Errs once, copies out of the feedback and stays with it."""
    if not bench.table.goes_on:
        return []
    told = await _told(bench, [bench.seed(0), bench.seed(1)])
    tried: list[list[str | None]] = []
    for copier in COPIERS:
        copies = [copier(feedback) for _, feedback in told.values()]
        if not any(copies) or copies in tried:
            continue  # it finds nothing, or the same as another
        tried.append(copies)
        if await wins_often(bench, partial(_err, bench, copier, told), bench.settings.min_copied_wins):
            return [Finding("ENV502", f"erring once and repeating the {_what(copier)} of the feedback wins")]
    return []


async def _err(
    bench: Bench, copier: Callable[[str], str | None], told: dict[int, tuple[str, str]], seeds: list[int]
) -> list[bool]:
    """Which seeds are won so; ``told`` holds what ``_told`` gave before, and gets what it gives of other seeds."""
    told |= await _told(bench, [seed for seed in seeds if seed not in told])
    copies = {seed: _copied_by(copier, bench, told[seed][1]) for seed in seeds}
    scripts = [(seed, [told[seed][0], *[copies[seed]] * (bench.turns - 1)]) for seed in seeds]
    return await bench.wins("feedback", scripts)


async def _told(bench: Bench, seeds: Sequence[int]) -> dict[int, tuple[str, str]]:
    """A wrong answer on each of ``seeds``, and the feedback on it."""
    wrong = {seed: (bench.said_on(seed) or [bench.dialogue.encode("-")])[0] for seed in seeds}
    plays = await recite(bench.session, [(seed, [action]) for seed, action in wrong.items()])
    return {each.seed: (wrong[each.seed], each.steps[0].observation) for each in plays}
