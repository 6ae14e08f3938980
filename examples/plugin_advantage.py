"""An advantage estimator of one's own (docs/extending.md). From the folder of this file:

    spadework train scripted --set agent.advantage=plugin_advantage:Ranks
"""

from spadework.selfplay.score.advantages import AdvantageEstimator


class Ranks(AdvantageEstimator):
    """Wins minus losses against the other episodes of the group, in [-1, 1]: only the order of returns counts."""

    def __call__(self, returns, seeds):
        others = max(1, len(returns) - 1)
        return [sum((own > other) - (own < other) for other in returns) / others for own in returns]
