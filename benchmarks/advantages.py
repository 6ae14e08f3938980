"""How much of a gradient is noise, by estimator of the advantage and by how many plays share a seed, at equal plays.

A Gaussian policy of ``SIZE`` parameters acts with noise e, which is also its score function. It wins with probability
sigmoid(d + u e): d is the difficulty of the instance that the seed gave, u the one direction that helps. The gradient
estimate of a group is the mean of A e. Its expectation lies along u; what it varies by is noise. The figure is how many
plays a direction as good takes, relative to the paper's z-score with a seed of its own for every play.

``python benchmarks/advantages.py [--quick] [--json]``
"""

from __future__ import annotations

from typing import Any

import numpy as np
from figures import Figure, parser, show

from spadework.config import AgentSection
from spadework.selfplay.score.advantages import AdvantageEstimator, build_advantage

SIZE = 16
PLAYS = 16
GAIN = 0.7
"""Length of u."""
WORLDS = {"instances alike": (0.0, 0.0), "instances half easy, half hard": (-3.0, 3.0)}
"""The difficulties that seeds are drawn from; 3 is a win probability of .95."""
ESTIMATORS: dict[str, dict[str, Any]] = {
    "z_score": {"advantage": "z_score"},
    "mean": {"advantage": "mean"},
    "leave_one_out": {"advantage": "leave_one_out"},
    "per_seed, z_score": {"advantage": "per_seed"},
    "per_seed, leave_one_out": {"advantage": "per_seed", "per_seed": {"within": "leave_one_out"}},
}

Array = Any


def gradients(
    estimator: AdvantageEstimator, difficulties: tuple[float, float], per_seed: int, count: int, rng: Any
) -> Array:
    """The estimate of ``count`` groups of ``PLAYS`` plays, ``per_seed`` of them on each seed: [count, SIZE]."""
    found = np.zeros((count, SIZE))
    seeds = np.arange(PLAYS) // per_seed
    for group in range(count):
        difficulty = rng.choice(difficulties, PLAYS // per_seed)[seeds]
        noise = rng.normal(size=(PLAYS, SIZE))
        returns = (rng.random(PLAYS) < 1 / (1 + np.exp(-difficulty - GAIN * noise[:, 0]))).astype(float)
        found[group] = np.array(estimator(returns.tolist(), seeds.tolist())) @ noise / PLAYS
    return found


def noise_to_signal(found: Array) -> float:
    """Total variance of the estimate over the square of its mean along u: plays for a given angle are proportional."""
    return float(found.var(axis=0).sum() / found[:, 0].mean() ** 2)


def main() -> int:
    options = parser(__doc__, quick="fewer groups: some 20 s on one core").parse_args()
    count = 4_000 if options.quick else 40_000
    figures = []
    for world, difficulties in WORLDS.items():
        base = 0.0
        for per_seed in (1, 4):
            for name, settings in ESTIMATORS.items():
                if settings["advantage"] == "per_seed" and per_seed == 1:
                    continue
                estimator = build_advantage(AgentSection.model_validate(settings))
                value = noise_to_signal(gradients(estimator, difficulties, per_seed, count, np.random.default_rng(0)))
                base = base or value
                label = f"{world}, {PLAYS // per_seed} seeds x {per_seed}, {name}"
                figures.append(Figure(label, round(value / base, 3), "plays, relative", "", None))
    return 0 if show(figures, options.json) else 1


if __name__ == "__main__":
    raise SystemExit(main())
