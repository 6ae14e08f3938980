"""``DesignerReward``: the seam at which a user changes what a design is worth (docs/extending.md)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from spadework.parts import Part
from spadework.selfplay.records import Evidence


class DesignerReward(Part, ABC):
    """Turns what play showed of one environment into the raw reward of its design.

    A reward is a pure function of the evidence: the history of the environment's skill is part of it. Centring, the
    scale between the roles, and what a hung or a mended program is paid come afterwards (``score.payment``).
    """

    of_means: ClassVar[bool] = False
    """Whether the window's mean return and the regret alone decide it. Adaptive allocation then asks what the reward
    would be at other means; of any other reward it takes for granted that it varies as much as the return does."""

    @abstractmethod
    def __call__(self, evidence: Evidence) -> float:
        """The raw reward, a finite number; NaN where the evidence does not suffice, and the design is not paid."""
