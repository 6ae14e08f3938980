"""What one cycle leaves in a run: the record that is committed, and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spadework.types import Design, Environment, Episode, TrainingRow


@dataclass(frozen=True, slots=True)
class Score:
    """The reward of a design, and the cycle in which it was paid."""

    design_id: str
    raw: float
    reward: float
    advantage: float


@dataclass(frozen=True, slots=True)
class PlayRow:
    """The play of one environment in one arm and one cycle."""

    environment_id: str
    arm: str
    episodes: int
    faults: int
    mean_return: float
    win_rate: float


@dataclass(frozen=True, slots=True)
class RegretRow:
    """Hinted minus unhinted return of one environment in one cycle, with its 95 % interval over ``n`` seeds."""

    environment_id: str
    mean: float
    low: float
    high: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class EventRow:
    """An environment came into play (``entered``) or left it; ``slot`` is ``None`` for anchors."""

    environment_id: str
    slot: int | None
    entered: bool
    why: str


@dataclass(frozen=True, slots=True)
class CycleRecord:
    """Everything that is stored of one cycle."""

    cycle: int
    environments: Sequence[Environment] = ()
    designs: Sequence[Design] = ()
    scores: Sequence[Score] = ()
    plays: Sequence[PlayRow] = ()
    regrets: Sequence[RegretRow] = ()
    events: Sequence[EventRow] = ()
    episodes: Sequence[Episode] = ()
    sequences: Sequence[TrainingRow] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
