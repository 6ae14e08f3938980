"""Two rewards of one's own (docs/extending.md). From the folder of this file:

    spadework train scripted --set reward.type=plugin_reward:Target --set reward.Target.rate=0.3
    spadework train scripted --set reward.type=sum \
        --set 'reward.sum={"plugin_reward:HintHelps" = 1.0, spread = 0.5}'
"""

import math

from pydantic import Field

from spadework.config import Section
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.reward import DesignerReward


class Target(DesignerReward):
    """The nearer the solve rate to a target, the better."""

    class Settings(Section):
        rate: float = Field(0.3, ge=0, le=1)
        """The solve rate that is paid in full."""

    def __call__(self, evidence: Evidence) -> float:
        return 1.0 - abs(evidence.solve_rate - self.settings.rate)


class HintHelps(DesignerReward):
    """Share of the seeds on which the hint helped, minus the share on which it did harm."""

    def __call__(self, evidence: Evidence) -> float:
        hinted, unhinted = evidence.seed_returns("hinted"), evidence.seed_returns("unhinted")
        both = [seed for seed in hinted if seed in unhinted]
        if not both:
            return math.nan  # an arm was lost to faults: the design is not paid
        gains = [math.fsum(hinted[seed]) / len(hinted[seed]) - math.fsum(unhinted[seed]) / len(unhinted[seed]) for seed in both]
        return sum((gain > 0) - (gain < 0) for gain in gains) / len(both)
