"""One cycle's designs and episodes, as a pipeline (method section 2, steps 1 and 2).

A program is played as soon as it is validated, while its hint is being written and others are still being designed; its
hinted arm starts with its hint; a failed attempt is tried again at once. Nothing waits but what needs the others: the
control arms, which borrow hints, and in a deterministic run every step, for all that runs beside it.

Of two designs with one structure and the same numbers the earlier is kept: in a deterministic run the one with the
smaller attempt and slot, else the one that was validated first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from spadework.policies.base import Policy
from spadework.selfplay.design.designer import TWIN, Candidate, Designer
from spadework.selfplay.design.novelty import SeenPrograms
from spadework.selfplay.keys import design_key, hint_key
from spadework.selfplay.pipeline import Pipeline
from spadework.selfplay.playing import Carried, Means, Playing, Table
from spadework.selfplay.precedence import Precedence
from spadework.types import Design, Environment, Episode

Filler = Callable[[int], Environment | None]
"""A bundled environment for a slot that no design has ever filled."""


class Collection:
    """Collects one cycle.

    Args:
        means: what is played with.
        cycle: of the run.
        seen: programs that may not be copied; what is accepted enters it.
        filler: fills slots that would stay empty.
        carried: episodes that earlier cycles left going.
    """

    def __init__(
        self, means: Means, cycle: int, seen: SeenPrograms, filler: Filler, carried: Sequence[Carried] = ()
    ) -> None:
        self._means, self.cycle, self._seen, self._filler = means, cycle, seen, filler
        self.designs: list[Design] = []
        """All attempts, by slot and attempt once ``run`` has ended."""
        self._entered: dict[int, Environment] = {}
        self._drafts = SeenPrograms()
        self._designer: Designer | None = None
        self._author: Policy = means.policy
        self._designing = 0
        self._pipeline = Pipeline(barrier=means.config.run.deterministic, together=self._together)
        self._precedence = Precedence()
        self._playing = Playing(means, cycle, self._pipeline, self._precedence, carried)

    @property
    def episodes(self) -> list[Episode]:
        """All that were played, by environment, arm and index."""
        return self._playing.episodes

    @property
    def entered(self) -> list[Environment]:
        """Environments that came into the pool, by slot."""
        return [self._entered[slot] for slot in sorted(self._entered)]

    @property
    def carried(self) -> list[Carried]:
        """Episodes that go on beyond the cycle."""
        return self._playing.carried

    def metrics(self) -> dict[str, float]:
        """Episodes that were late, carried, or lost with a design whose hint failed; nothing of what did not happen."""
        return {f"agent/{name}": float(count) for name, count in self._playing.counts.items() if count}

    async def run(self, designer: Designer | None, author: Policy) -> None:
        """Design, where ``designer`` is given, and play, to the end or the deadline.

        ``author`` speaks for the designer. Faults are in the designs and episodes.
        """
        config, pool = self._means.config, self._means.pool
        self._designer, self._author = designer, author
        self._designing = config.designer.environments if designer else 0
        for place, environment in enumerate(pool.anchors):
            self._playing.seat(place, environment)
        for slot in range(self._designing, pool.slots):
            self._seat_held(slot)
        if self._designing:
            self._means.watcher.stage(self.cycle, "design", self._designing)
            for slot in range(self._designing):
                self._try(slot, 0)
        else:
            self._playing.all_seated()
        if not await self._pipeline.run(self._playing.deadline):
            await self._playing.call_time()
        self.designs.sort(key=lambda design: (design.slot, design.attempt))

    def _together(self) -> ExitStack:
        """Hold the engines while units start."""
        stack = ExitStack()
        for policy in {id(one): one for one in (self._means.policy, self._author)}.values():
            stack.enter_context(policy.attend())
        return stack

    def _place(self, slot: int) -> int:
        return len(self._means.pool.anchors) + slot

    def _seat_held(self, slot: int) -> None:
        """Play what the slot holds, if anything."""
        environment = self._means.pool.at(slot)
        if environment is not None:
            self._playing.seat(self._place(slot), environment)

    def _try(self, slot: int, attempt: int) -> None:
        """The next attempt at a slot; after the last one it keeps what it had."""
        designer = self._designer
        assert designer is not None
        if attempt < designer.settings.attempts:
            self._pipeline.add(
                design_key(self.cycle, slot, attempt),
                lambda: designer.attempt(self._author, self.cycle, slot, attempt, self._precedence.check),
                lambda tried: self._tried(slot, attempt, tried),
            )
            return
        filler = self._filler(slot) if self._means.pool.at(slot) is None else None
        if filler is not None:
            self._enter(slot, filler)
        self._seat_held(slot)
        self._settle(slot)

    def _tried(self, slot: int, attempt: int, tried: Design | Candidate) -> None:
        """Play a candidate while its hint is being written; try again after anything else."""
        designer = self._designer
        assert designer is not None
        if isinstance(tried, Candidate) and self._is_twin(tried.environment):
            tried = tried.refused(TWIN)
        if isinstance(tried, Design):
            self.designs.append(tried)
            self._try(slot, attempt + 1)
            return
        candidate = tried
        self._drafts.add(candidate.environment.source)
        table = self._playing.seat(self._place(slot), candidate.environment, awaits_hint=True)
        self._pipeline.add(
            hint_key(self.cycle, slot, attempt),
            lambda: designer.write_hint(self._author, candidate),
            lambda written: self._hinted(slot, attempt, table, written),
        )

    def _hinted(self, slot: int, attempt: int, table: Table, written: tuple[Design, Environment | None]) -> None:
        """Take the environment in, or clear the table of a design that got no clean hint."""
        design, environment = written
        self.designs.append(design)
        if environment is None:
            self._drafts.discard(table.environment.source)
            self._playing.clear(table)
            self._try(slot, attempt + 1)
            return
        self._enter(slot, environment)
        self._seen.add(environment.source)
        self._playing.hint(table, environment)
        self._settle(slot)

    def _is_twin(self, environment: Environment) -> bool:
        """Whether it copies what is known, or is in play already."""
        copied = environment.source in self._seen or environment.source in self._drafts
        playing = {one.id for one in self._means.pool.environments} | set(self._playing.tables)
        return (copied and self._means.config.validation.refuse_copies) or environment.id in playing

    def _enter(self, slot: int, environment: Environment) -> None:
        self._means.pool.fill(slot, environment)
        self._entered[slot] = environment

    def _settle(self, slot: int) -> None:
        """A slot has its environment."""
        self._designing -= 1
        own = [design for design in self.designs if design.slot == slot]
        self._means.watcher.advance(sum(segment.sampled for design in own for segment in design.segments))
        if not self._designing:
            self._playing.all_seated()
