"""The design stage without a run: design a pool of environments beforehand (method section 2, step 1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from spadework.config import DesignerSection
from spadework.envs.check.program import in_order
from spadework.policies.base import Policy
from spadework.selfplay.design.designer import Designer, SlotResult, refuse_twin
from spadework.selfplay.design.novelty import SeenPrograms


def slot_place(settings: DesignerSection, number: int) -> tuple[int, int]:
    """Map a running number to (cycle, slot) of a run's consecutive design cycles, so that skills rotate as in a run.

    >>> slot_place(DesignerSection(environments=24, every=4), 25)
    (4, 1)
    """
    turn, slot = divmod(number, settings.environments)
    return turn * settings.every, slot


def slot_number(settings: DesignerSection, design_id: str) -> int:
    """The running number of the slot that a design was written for; the inverse of ``slot_place``."""
    cycle, slot, _ = map(int, design_id.split("-"))
    return cycle // settings.every * settings.environments + slot


async def design_slots(
    designer: Designer, policy: Policy, numbers: Iterable[int], jobs: int, seen: SeenPrograms | None
) -> AsyncIterator[tuple[int, SlotResult]]:
    """Fill the slots ``numbers``, ``jobs`` at a time; yields (number, result) in order.

    Accepted programs are added to ``seen``, and copies of programs in it are rejected; ``None`` allows copies.
    """

    async def fill(number: int) -> SlotResult:
        cycle, slot = slot_place(designer.settings, number)
        return await designer.fill_slot(policy, cycle, slot)

    async for number, result in in_order(numbers, fill, jobs):
        if isinstance(result, Exception):
            raise result
        kept = result if seen is None else refuse_twin(result, seen)
        if seen is not None and kept.environment is not None:
            seen.add(kept.environment.source)
        yield number, kept
