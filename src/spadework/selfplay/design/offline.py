"""The design stage without a run: slot after slot of a pool that is made beforehand (method section 2, step 1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from spadework.config import DesignerSection
from spadework.envs.check.program import in_order
from spadework.policies.base import Policy
from spadework.selfplay.design.designer import Designer, SlotResult, refuse_twin
from spadework.selfplay.design.novelty import SeenPrograms


def slot_place(settings: DesignerSection, number: int) -> tuple[int, int]:
    """(cycle, slot) of a number: the slots of a run's design cycles one after another, so that skills rotate as there.

    >>> slot_place(DesignerSection(environments=24, every=4), 25)
    (4, 1)
    """
    turn, slot = divmod(number, settings.environments)
    return turn * settings.every, slot


def slot_number(settings: DesignerSection, design_id: str) -> int:
    """The number of the slot that a design was written for."""
    cycle, slot, _ = map(int, design_id.split("-"))
    return cycle // settings.every * settings.environments + slot


async def design_slots(
    designer: Designer, policy: Policy, numbers: Iterable[int], jobs: int, seen: SeenPrograms | None
) -> AsyncIterator[tuple[int, SlotResult]]:
    """Fill the slots ``numbers``, ``jobs`` at a time; (number, result) in order.

    What is accepted enters ``seen``, and a copy of what is in there is refused; ``None`` lets copies pass.
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
