"""``[reward]``: what the designer is paid (method section 7), and the settings of the method's own rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from spadework.config.base import OpenSection, Section


class PlateauSettings(Section):
    """The band of solve rates that ``plateau`` pays in full; ``blend`` has it too."""

    low: float = Field(0.4, ge=0, le=1)
    """Solve rate at which the band begins."""
    high: float = Field(0.6, ge=0, le=1)
    """Solve rate at which it ends."""
    slope: float = Field(0.25, gt=0)
    """Distance from the band, on either side, at which nothing is paid any more."""
    per_seed: bool = False
    """Take the plateau of each seed's own mean and average over seeds; needs ``play.plays_per_seed`` above 1."""

    @model_validator(mode="after")
    def _check(self) -> PlateauSettings:
        if self.low > self.high:
            raise ValueError(f"low is above high: {self.low} > {self.high}")
        return self


class BlendSettings(Section):
    """How ``blend`` weighs the plateau against regret."""

    plateau_share: float = Field(0.6, ge=0, le=1)
    """Weight of the plateau; the rest is regret's."""
    regret_scale: float = Field(0.15, gt=0)
    """Regret that earns full marks."""


class LearningPotentialSettings(Section):
    """Weights of the newest scoring round in a skill's two moving averages (Eq. 4 and 5)."""

    gamma_fast: float = Field(0.98, ge=0, le=1)
    """Weight of the newest round in the fast average."""
    gamma_slow: float = Field(0.85, ge=0, le=1)
    """Weight of the newest round in the slow average."""


class MicroLpSettings(Section):
    """How ``micro_lp`` measures progress within the window."""

    form: Literal["slope", "halves"] = "slope"
    """Least-squares slope a cycle, or the mean of the late half minus that of the early one."""


class SpreadSettings(Section):
    """``spread`` is exp(-(variance - target)^2 / width) of single returns; defaults are the authors'."""

    target: float = 0.25
    """Variance that is paid in full: that of a fair coin."""
    width: float = Field(0.02, gt=0)
    """How fast the reward falls off around the target."""


class RewardSection(OpenSection):
    """What the designer is paid (method section 7)."""

    type: str = "blend"
    """``regret``, ``blend``, ``plateau``, ``learning_potential``, ``micro_lp``, ``variance``, ``spread``; ``sum`` of
    several; the name of an installed plug-in; or ``module:Class`` of your own (docs/extending.md). The settings of a
    reward stand in the table of its name."""
    sum: Mapping[str, float] = {}
    """Rewards that ``sum`` adds up, each with its weight, e.g. ``{blend = 1.0, spread = 0.5}``."""
    plateau: PlateauSettings = PlateauSettings()
    blend: BlendSettings = BlendSettings()
    learning_potential: LearningPotentialSettings = LearningPotentialSettings()
    micro_lp: MicroLpSettings = MicroLpSettings()
    spread: SpreadSettings = SpreadSettings()
    delay: int | None = None
    """Cycles until a design is scored; ``designer.every`` when unset."""
    centre_below: int = Field(2, ge=1)
    """A skill with fewer designs in its design cycle is centred on the mean of the whole design cycle: one design
    centred on itself would always be paid 0."""
    timeout: float = -0.5
    """Raw reward of an environment whose step hung."""
    timeout_under: tuple[str, ...] | None = None
    """Rewards under which a hung step is paid ``timeout``; under all when unset. The authors' code: ``["regret"]``."""
    role_scaling: bool = True
    """Scale by min(50, agent samples / designer samples x k)."""
    max_role_scale: float = Field(50.0, gt=0)
    """The most that ``role_scaling`` multiplies by."""
    role_weight: float = Field(1.0, gt=0)
    """A further factor on what the designer is paid; 1 in the paper."""
    novelty: float = Field(0.0, ge=0)
    """Added to the raw reward for a unit of novelty: 1 minus the cosine with the nearest program written before."""

    @property
    def parts(self) -> Mapping[str, float]:
        """The rewards that are paid, each with its weight: those of ``sum``, or ``type`` alone."""
        return self.sum if self.type == "sum" else {self.type: 1.0}

    @model_validator(mode="before")
    @classmethod
    def _read_flat_micro_lp(cls, data: Any) -> Any:
        """Version 0.1 had ``micro_lp = "slope"`` where a table of that name stands now."""
        if isinstance(data, Mapping) and isinstance(data.get("micro_lp"), str):
            return {**data, "micro_lp": {"form": data["micro_lp"]}}
        return data

    @model_validator(mode="after")
    def _check(self) -> RewardSection:
        if self.type == "sum" and not self.sum:
            raise ValueError(
                'type = "sum" adds up the rewards of the table sum, e.g. sum = {blend = 1.0, spread = 0.5}'
            )
        if "sum" in self.sum:
            raise ValueError("sum cannot contain itself")
        return self
