"""Records that stages hand to one another through the loop, and their way from plain data back out of a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from spadework.envs.check.runtime import RuntimeReport
from spadework.intervals import Interval
from spadework.types import Arm, Design, Fault, Segment

Label = Literal["good", "too easy", "too hard"]


@dataclass(frozen=True, slots=True)
class Example:
    """A past environment as the designer is shown it."""

    environment_id: str
    source: str
    label: Label


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint, and the tokens that wrote it."""

    text: str
    segments: tuple[Segment, ...] = ()


class JudgedProgram(Protocol):
    """What a validator says of a program."""

    @property
    def findings(self) -> tuple[str, ...]:
        """Why it is rejected; empty when accepted."""
        ...

    @property
    def ran(self) -> bool:
        """Whether it could be constructed, reset and stepped."""
        ...

    @property
    def report(self) -> RuntimeReport | None:
        """What running it showed; none of a rejected program."""
        ...

    @property
    def novelty(self) -> float | None:
        """How far it is from all that was written before; ``None`` where nobody measures it."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one play of an environment paid; plays that a fault ended have none."""

    cycle: int
    arm: Arm
    seed: int
    return_: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one environment when its design is scored."""

    skill: str
    paired: Interval
    """Hinted minus unhinted return of the design cycle, paired by seed; NaN when the hinted arm was not played."""
    unhinted_return: float
    """Mean unhinted return of the design cycle, where both arms saw the same weights."""
    window: tuple[float, ...]
    """Mean unhinted return of each cycle of the window, in order; faulty cycles left out."""
    seeds: tuple[float, ...] = ()
    """Mean unhinted return of each seed that the window played."""
    hung: bool = False
    """A step, a reset or the load ran into its time limit."""
    failing: bool = False
    """The program spoilt so many plays that it left the pool: its design is paid as a rejected one."""
    repaired: bool = False
    novelty: float | None = None
    """Of the program, in [0, 1]; ``None`` where it was not measured."""
    outcomes: tuple[Outcome, ...] = ()
    """Every play of the window, in both arms and in the control arms, in order."""
    skill_returns: tuple[float, ...] = ()
    """Mean return of the skill's designs in each scoring round so far, the present round included (Eq. 4)."""

    def returns(self, arm: Arm = "unhinted") -> tuple[float, ...]:
        """The return of every play of an arm within the window."""
        return tuple(outcome.return_ for outcome in self.outcomes if outcome.arm == arm)

    def seed_returns(self, arm: Arm = "unhinted") -> dict[int, tuple[float, ...]]:
        """Seed -> the returns of its plays in an arm."""
        found: dict[int, tuple[float, ...]] = {}
        for outcome in self.outcomes:
            if outcome.arm == arm:
                found[outcome.seed] = (*found.get(outcome.seed, ()), outcome.return_)
        return found

    @property
    def regret(self) -> float:
        """The mean of ``paired``; may be negative; NaN when unknown."""
        return self.paired.mean

    @property
    def window_return(self) -> float:
        """The mean unhinted return over the window's cycles; NaN without any valid cycle."""
        return math.fsum(self.window) / len(self.window) if self.window else math.nan

    @property
    def solve_rate(self) -> float:
        """w: ``window_return`` clipped to [0, 1]; NaN without any valid cycle."""
        mean = self.window_return
        return mean if math.isnan(mean) else min(1.0, max(0.0, mean))


def segment_from_dict(row: Mapping[str, Any]) -> Segment:
    """A segment from ``dataclasses.asdict`` or from JSON."""
    return Segment(
        tokens=tuple(row["tokens"]),
        loss_mask=tuple(row["loss_mask"]),
        logprobs=tuple(row["logprobs"]),
        policy_version=int(row["policy_version"]),
        temperature=float(row["temperature"]),
    )


def design_from_dict(row: Mapping[str, Any]) -> Design:
    """A design from ``dataclasses.asdict`` or from JSON."""
    tuples = {key: tuple(row[key]) for key in ("parents", "findings")}
    segments = tuple(segment_from_dict(segment) for segment in row["segments"])
    hint_segments = tuple(segment_from_dict(segment) for segment in row.get("hint_segments", ()))  # 0.1 had none
    fault = Fault(**row["fault"]) if row["fault"] else None
    return Design(**{**row, **tuples, "segments": segments, "hint_segments": hint_segments, "fault": fault})


def evidence_from_dict(row: Mapping[str, Any]) -> Evidence:
    """Evidence from ``dataclasses.asdict`` or from JSON."""
    tuples = {key: tuple(row[key]) for key in ("window", "seeds")}
    tuples["outcomes"] = tuple(Outcome(**outcome) for outcome in row.get("outcomes", ()))  # 0.1 kept no single plays
    tuples["skill_returns"] = tuple(row.get("skill_returns", ()))
    return Evidence(**{**row, **tuples, "paired": Interval(**row["paired"])})
