"""The stages of a run, as ``build`` makes them and a checkpoint keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spadework.envs.sandbox.base import Sandbox
from spadework.policies.base import Policy
from spadework.rollout import PlaySettings
from spadework.selfplay.design.collapse import CollapseAlarm
from spadework.selfplay.design.designer import Designer
from spadework.selfplay.design.memory import Memory
from spadework.selfplay.design.novelty import SeenPrograms
from spadework.selfplay.pool.climber import Climber
from spadework.selfplay.pool.fixed import FixedPool
from spadework.selfplay.pool.levelled import LevelledPool
from spadework.selfplay.pool.pool import Pool
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import Environment


class Evaluator(Protocol):
    """Scores the weights after a cycle."""

    async def __call__(self, policy: Policy, cycle: int) -> dict[str, float]:
        """Its figures, as metrics ``eval/...``; ``eval/average`` decides which checkpoint is best."""
        ...


@dataclass(slots=True)
class Stages:
    """The stages that a loop works with, as ``build`` made them."""

    designer: Designer | None
    sandbox: Sandbox
    play: PlaySettings
    pool: Pool
    memory: Memory
    ledger: Ledger
    averages: SkillAverages
    seen: SeenPrograms
    alarm: CollapseAlarm
    fillers: Sequence[Environment] = ()
    """Bundled environments for slots that no design has filled yet."""
    fixed: FixedPool | LevelledPool | None = None
    """Draws environments at every cycle, into the slots behind the designer's."""
    climber: Climber | None = None
    """Moves designed environments that are won up a level."""
    author: Policy | None = None
    """Designs and writes hints where it is not the model in training."""
    evaluate: Evaluator | None = None
    """What ``run.evaluate_every`` asks for."""

    def state_dict(self) -> dict[str, Any]:
        """All that must outlive a restart."""
        names = ("pool", "memory", "ledger", "averages", "seen", "alarm", "fixed", "climber")
        return {name: stage.state_dict() for name in names if (stage := getattr(self, name)) is not None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``; a stage that a changed config has turned off is left out."""
        for name, part in state.items():
            if (stage := getattr(self, name)) is not None:
                stage.load_state_dict(part)
