"""Design a pool of environments offline, with the design stage alone. An unfinished pool is continued."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from spadework import build
from spadework.analysis.designs import outcome
from spadework.config import RunConfig
from spadework.errors import ConfigError, blames_machinery, causes
from spadework.jobs.engine import open_policy
from spadework.jobs.losses import Losses
from spadework.selfplay.design.designer import SlotResult
from spadework.selfplay.design.offline import design_slots, slot_number
from spadework.selfplay.pool.files import import_pool, write_pool
from spadework.types import Design, Environment

_SAVE_EVERY = 16
"""Number of slots after which the pool is written to disk."""


class PoolBook:
    """A pool under design and its rejected designs, in memory and in two files beside each other."""

    def __init__(self, pool: Path, config: RunConfig) -> None:
        self.pool, self.rejections = pool, pool.with_suffix(".rejected.jsonl")
        self.environments: list[Environment] = list(import_pool(pool).environments) if pool.exists() else []
        self.attempts: list[Design] = []
        self._unsaved: list[str] = []
        tried = _rejected_ids(self.rejections)
        tried += [environment.design_id for environment in self.environments if environment.design_id]
        self.next_slot = 1 + max((slot_number(config.designer, name) for name in tried), default=-1)

    def add(self, result: SlotResult) -> None:
        """Add the result of one slot."""
        self.attempts += result.designs
        if result.environment is not None:
            self.environments.append(result.environment)
        self._unsaved += [json.dumps(_rejection(design)) for design in result.designs if not design.accepted]

    def save(self) -> None:
        """Write the pool, and append the new rejections to their file."""
        write_pool(self.pool, self.environments)
        with self.rejections.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in self._unsaved)
        self._unsaved.clear()


async def design_pool(config: RunConfig, book: PoolBook, n: int, jobs: int, note: Callable[[str], None]) -> None:
    """Fill slots until the book holds ``n`` environments, or until each missing one was attempted once.

    Raises ``RunError`` when several slots in a row are lost to faults of endpoint, model or sandbox. Whatever was
    designed before is on disk by then.
    """
    missing = n - len(book.environments)
    numbers: Sequence[int] = range(book.next_slot, book.next_slot + missing)
    if not numbers:
        return
    corpus = build.build_corpus(config)
    async with open_policy(config, note, designs=True) as (policy, sandbox):
        stages = build.build_stages(config, sandbox, corpus)
        assert stages.designer is not None
        for environment in book.environments:
            stages.seen.add(environment.source)
        seen = stages.seen if config.validation.refuse_copies else None
        losses = Losses()
        try:
            async for number, result in design_slots(stages.designer, policy, numbers, jobs, seen):
                book.add(result)
                told = ", ".join(outcome(design) for design in result.designs)
                note(f"slot {number}: {result.designs[-1].skill}: {told}")
                if (number + 1) % _SAVE_EVERY == 0:
                    book.save()
                faults = [design.fault for design in result.designs if design.fault is not None]
                lost = len(faults) == len(result.designs) and all(map(blames_machinery, faults))
                losses.take(causes(faults), lost=lost)
        finally:
            book.save()


def _rejected_ids(path: Path) -> list[str]:
    """The ids in a file of rejections. Raises ``ConfigError`` for any other line, such as a half-written one."""
    try:
        lines = path.read_text("utf-8").split("\n") if path.exists() else []
        return [str(json.loads(line)["id"]) for line in lines if line.strip()]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: holds a line that is no rejection ({error}); mend it, or move it away") from None


def _rejection(design: Design) -> dict[str, object]:
    told = {key: getattr(design, key) for key in ("id", "skill", "document_id", "findings", "source", "reply")}
    return {**told, "outcome": outcome(design), "fault": None if design.fault is None else design.fault.message}
