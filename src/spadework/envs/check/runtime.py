"""What running a program shows: faults, seeds, determinism, who wins, leaks and grading.

Three instances do: one is played, one lends the oracle its ``solution()`` for the same seed and past actions, and one
in a process of its own repeats what the first did. Faults of the sandbox propagate; they say nothing about a program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from spadework.envs.check import levels as level_check
from spadework.envs.check.answers import hopeless, revealed
from spadework.envs.check.answers.leaks import prints_formula
from spadework.envs.check.findings import CODES, Finding, fatal
from spadework.envs.check.panel import calling, copying, first_play, unfounded, uninformed
from spadework.envs.check.panel.bench import Bench
from spadework.envs.check.panel.table import Statistics, Table
from spadework.envs.check.players import Play, difference, recite, solve
from spadework.envs.check.seeds import draw_seeds
from spadework.envs.domain import Domain
from spadework.envs.sandbox.base import Limits, Sandbox, Session
from spadework.errors import ProgramError

_PROBES = ("", "probe", "50", "7", "yes", "B", "(1, 2)", "1 2 3", "-0.5", "\\frac{1}{2}", "é∑ {}")


_TOLD = ("ENV402", "ENV501", "ENV502")
"""Where one of these was found, what else wins or leaks is the same fault once more."""

_ELSEWHERE = "\n" + "\n".join("#" * size for size in range(1, 460, 8)) + "\n"
"""Appended for the repeat: a sandbox that forks would give every object the address that it had the first time.

The lines of a source are kept in memory, so comments shift what comes after them and give the program no name. The
allocator has a size for every 16 bytes up to 512, and a line of each size shifts what is kept in that size."""


@dataclass(frozen=True, slots=True)
class RuntimeChecks:
    """What to run, and what is too much. A program's own ``max_turns`` bounds every play, capped by ``limits``."""

    limits: Limits = field(default_factory=Limits)
    seeds: int = 5
    """Number of seeds that the oracle plays; they are drawn as those of plays are (``check.seeds``)."""
    probes: tuple[str, ...] = _PROBES
    """What is said first, to see that step bears it; each is encoded as an answer of the domain."""
    panel: bool = True
    """Whether the oracle, the no-op, the random and the other players play."""
    grading: bool = True
    """Whether the oracle's last answer is varied."""
    levels: bool = True
    """Whether a program that takes ``difficulty`` is played at other levels too."""
    random_plays: int = 12
    """Plays of each random player at first; of those who win .3 of all plays, 91 in 100 are then looked at again."""
    max_random_wins: float = 0.15
    max_constant_wins: float = 0.8
    min_copied_wins: float = 0.9


@dataclass(frozen=True, slots=True)
class Trial:
    """A program on trial, as the checks of its domain see it."""

    source: str
    session: Session
    """The instance that is played; it has been reset and played before."""
    settings: RuntimeChecks
    seeds: Sequence[int]
    """The seeds that the oracle plays."""
    solved: Sequence[Play]
    """The oracle's play of each seed; empty without an oracle."""
    bench: Bench | None
    """Plays scripts and counts their wins; ``None`` where the settings leave the panel out."""
    open: Callable[[str], Awaitable[Session]]
    """Opens another instance, of the source with a text appended; it is closed when the check ends."""
    findings: list[Finding]
    """All that was found so far. Checks append to it, so that a fault on their way loses nothing."""


@dataclass(frozen=True, slots=True)
class RuntimeReport:
    """Findings, errors first, and what the plays looked like."""

    findings: tuple[Finding, ...]
    statistics: Statistics
    oracle: tuple[Play, ...] = ()
    """The oracle's play of each seed: what a hint must not give away is read off it."""


async def check_runtime(sandbox: Sandbox, source: str, domain: Domain, settings: RuntimeChecks) -> RuntimeReport:
    """Run every check of ``domain`` that ``settings`` ask for. Raises ``SandboxError`` only."""
    check = _Check(sandbox, source, domain, settings)
    async with AsyncExitStack() as stack:
        try:
            await check.run(stack)
        except ProgramError as error:
            check.findings.append(_of_fault(error))
    rank = {"error": 0, "warning": 1, "info": 2}
    findings = sorted(dict.fromkeys(check.findings), key=lambda finding: (rank[finding.severity], finding.code))
    return RuntimeReport(tuple(findings), check.table.statistics(), tuple(check.solved))


def _of_fault(error: ProgramError) -> Finding:
    fault = error.fault
    code = fault.code if fault.code in CODES else "ENV203"
    return Finding(code, " ".join([fault.message, *getattr(error, "__notes__", ())]))


class _Check:
    """One run of all checks over one program."""

    def __init__(self, sandbox: Sandbox, source: str, domain: Domain, settings: RuntimeChecks) -> None:
        self.sandbox = sandbox
        self.source = source
        self.domain = domain
        self.settings = settings
        self.findings: list[Finding] = []
        self.table = Table()
        self.solved: list[Play] = []
        self.turns = settings.limits.max_turns
        self.seeds = draw_seeds(settings.seeds)

    async def run(self, stack: AsyncExitStack) -> None:
        session = await self._open(stack)
        self.turns = min(session.max_turns, self.settings.limits.max_turns)
        first = await self._probe(session)
        bench = None
        if self.settings.panel:
            shadow = await self._oracle(session, stack)
            bench = Bench(session, shadow, self.domain, self.settings, self.turns, self.table, self.solved)
            await self._play_panel(bench, stack)
        opener = partial(self._open, stack)
        trial = Trial(self.source, session, self.settings, self.seeds, self.solved, bench, opener, self.findings)
        await self.domain.checks.runtime(trial)
        fresh = await self._open(stack, _ELSEWHERE)
        await self._repeat(session, first, fresh)
        if bench is not None:
            self.findings += await unfounded.check_long(bench, fresh)
        if self.settings.levels and self.settings.panel and not fatal(self.findings):
            self.findings += await level_check.check(self.sandbox, self.source, self.domain, self.settings)

    async def _play_panel(self, bench: Bench, stack: AsyncExitStack) -> None:
        """Everyone who must not win, and whether it could be known what wins."""
        self.findings += await uninformed.check(bench)
        self.findings += await copying.check(bench)
        self.findings += await unfounded.check(bench)
        self.findings += await calling.check(bench)
        self.findings += await first_play.check(bench, partial(self._open, stack))
        if not any(finding.code in _TOLD for finding in self.findings):
            self.findings += await revealed.check(bench)
            self.findings += await hopeless.check(bench)

    async def _open(self, stack: AsyncExitStack, suffix: str = "") -> Session:
        session = await self.sandbox.open(self.source + suffix, self.settings.limits)
        stack.push_async_callback(session.close)
        return session

    def _probes(self) -> list[str]:
        """What is said turn for turn, the last probe for ever."""
        said = [self.domain.dialogue.encode(probe) if probe else "" for probe in self.settings.probes]
        return [said[min(turn, len(said) - 1)] for turn in range(self.turns)]

    async def _probe(self, session: Session) -> Play:
        """The first play of the instance, and whether other seeds give other tasks."""
        seeds = self.seeds
        first, *others = await recite(session, [(seeds[0], self._probes()), *((seed, ()) for seed in seeds[1:])])
        plays, openings = [first], {each.opening for each in (first, *others)}
        if not all(opening.strip() for opening in openings):
            self.findings.append(Finding("ENV211", "reset gave an empty observation"))
        if len(openings) == 1 and len(seeds) > 1:
            plays += await recite(session, [(seed, self._probes()) for seed in seeds[1:]])
        self.seeds_matter = len({each.transcript for each in plays}) > 1 or len(openings) > 1
        if any(prints_formula(opening) for opening in openings):
            self.findings.append(Finding("ENV505", "an equation in letters stands in the first observation"))
        for each in plays:
            self.table.add("probe", each)
        if not plays[0].done and len(plays[0].steps) >= session.max_turns:
            self.findings.append(Finding("ENV210", f"nothing had ended after {len(plays[0].steps)} turns"))
        return plays[0]

    async def _oracle(self, session: Session, stack: AsyncExitStack) -> Session | None:
        """The oracle's play of each seed; returns the instance that lends it its ``solution()``."""
        shadow = await self._open(stack)
        try:
            self.solved += await solve(session, shadow, self.seeds, self.domain, self.turns)
        except ProgramError as error:
            if error.fault.code != "ENV204":
                raise
            self.findings.append(Finding("ENV406", "the program has no solution()"))
            return None
        for each in self.solved:
            self.table.add("oracle", each)
        lost = [each for each in self.solved if not each.win]
        if lost:
            self.findings.append(_lost(lost[0], len(lost), len(self.solved), self.turns))
        return shadow

    async def _repeat(self, session: Session, first: Play, fresh: Session) -> None:
        """The first play again: in a fresh process, and in the instance that has been played ever since."""
        said = {each.actions for each in self.solved}
        if not self.seeds_matter and len(said) <= 1 and len(self.seeds) > 1:
            self.findings.append(Finding("ENV302", f"{len(self.seeds)} seeds give one and the same task"))
        last = self.solved[-1] if self.solved else first
        elsewhere = await recite(fresh, [(each.seed, each.actions) for each in (first, last)])
        later = await recite(session, [(first.seed, first.actions)])
        for before, again, code in (
            (first, elsewhere[0], "ENV306"),
            (first, later[0], "ENV305"),
            (last, elsewhere[1], "ENV306"),
        ):
            if again.transcript != before.transcript:
                self.findings.append(Finding(code, f"seed {before.seed}: {difference(before, again)}"))
                return


def _lost(example: Play, lost: int, plays: int, turns: int) -> Finding:
    share = f"solution() loses on {lost} of {plays} seeds"
    last = example.steps[-1]
    insists = len(example.steps) > 1 and len(set(example.actions)) == 1
    if insists:
        return Finding("ENV401", f"{share}: it says {example.actions[0][:60]!r} again and again")
    if example.done and last.reward < 1 and last.truncated and not last.terminated:
        return Finding("ENV405", f"{share}: the episode is cut after {len(example.steps)} turns")
    if not example.done and len(example.steps) >= turns:
        return Finding("ENV405", f"{share}: nothing is won after {turns} turns")
    how = f"terminated={last.terminated}, reward={last.reward:g}"
    return Finding("ENV401", f"{share}: {example.actions[-1][:60]!r} ended with {how}")
