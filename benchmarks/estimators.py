"""How well the designer's reward is known after so many episodes: a simulation where every win probability is known.

Environments are drawn from a mixture (hopeless, trivial, in between). A seed's difficulty is shared by both arms, which
gives their returns a correlation. Rewards are computed as in a run: the return over a window of cycles, regret in the
first. Compared are both arms on seeds of their own (unpaired), on the same seeds (paired), and adaptive allocation.

``python benchmarks/estimators.py [--quick] [--json] [--plot FILE]``; ``allocation.py`` looks at real plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure, parser, show

from spadework.config import PlaySection, RewardSection, RunConfig
from spadework.intervals import Interval, t_interval
from spadework.selfplay.play.allocation import Allocation
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.rewards import build_reward
from spadework.selfplay.score.scoring import Scoring
from spadework.selfplay.score.seeds import estimate, seed_means
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import Design, Episode, Group

WINDOW = 4
FULL = 16
ADAPTIVE = PlaySection(allocation="adaptive")
TYPES = ("regret", "blend", "plateau", "learning_potential", "micro_lp", "variance")
OUTCOMES = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
"""(hinted, unhinted) return on a seed, by its code: hinted + 2 unhinted."""
BLEND = RewardSection()

Array = Any


class World:
    """Environments of known win probabilities; ``tau`` is the standard deviation of the logit between seeds of one."""

    def __init__(self, count: int, tau: float, seed: int) -> None:
        self.rng, self.tau = np.random.default_rng(seed), tau
        wide = math.sqrt(1 + tau**2 / 2.9)
        kind = self.rng.choice(3, count, p=[0.38, 0.32, 0.3])
        ease = np.array([-4.5, 4.5, 0.0])[kind] + 1.2 * self.rng.normal(size=count)
        self.unhinted = ease * wide
        self.hinted = self.unhinted + self.rng.normal(0.8, 0.8, count) * wide
        nodes, weights = np.polynomial.hermite_e.hermegauss(201)
        weights = weights / weights.sum()
        u, h = (_sigmoid(level[:, None] + tau * nodes) for level in (self.unhinted, self.hinted))
        self.w, hinted = u @ weights, h @ weights
        self.regret = hinted - self.w
        covariance = (u * h) @ weights - self.w * hinted
        spread = np.sqrt(self.w * (1 - self.w) * hinted * (1 - hinted))
        self.learnable = (self.w >= 0.2) & (self.w <= 0.8)
        self.correlation = float((covariance / spread)[self.learnable].mean())

    def play(self, n: int, *, paired: bool = True) -> Array:
        """Codes of ``OUTCOMES`` of ``n`` seeds an environment; unpaired arms have seeds of their own."""
        ease = self.rng.normal(size=(2, len(self.w), n))
        hinted = self.rng.random(ease.shape[1:]) < _sigmoid(self.hinted[:, None] + self.tau * ease[0])
        unhinted = self.rng.random(ease.shape[1:]) < _sigmoid(self.unhinted[:, None] + self.tau * ease[int(not paired)])
        return hinted + 2 * unhinted

    def truth(self, settings: RewardSection) -> Array:
        """Raw reward of each environment, known exactly."""
        return rewards(settings, np.tile(self.w, (WINDOW, 1)), self.regret)


@dataclass(frozen=True)
class Seen:
    """What one way to allocate gave: mean unhinted return a cycle (WINDOW, environments), regret, episodes."""

    window: Array
    regret: Array
    episodes: Array


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def rewards(settings: RewardSection, window: Array, regret: Array) -> Array:
    """Raw rewards by the package's own formulas; learning potential is against an average of 0.5."""
    reward = build_reward(settings)
    rows = zip(window.T.tolist(), regret.tolist(), strict=True)
    return np.array([reward(Evidence("skill", Interval(r), w[0], tuple(w), skill_returns=(0.5,))) for w, r in rows])


def fixed(first: Array, later: list[Array], n: int) -> Seen:
    """``n`` episodes of each arm in the first cycle, and unhinted ones after it."""
    window = np.stack([(codes[:, :n] >= 2).mean(1) for codes in (first, *later)])
    regret = (first[:, :n] % 2).mean(1) - window[0]
    return Seen(window, regret, np.full(len(regret), n * (WINDOW + 1)))


def adaptive(first: Array, later: list[Array], *, corrected: bool = True) -> Seen:
    """Adaptive allocation by the package's own rule, on the same plays."""
    rule = Allocation(ADAPTIVE, BLEND, ADAPTIVE.episodes, WINDOW)
    stage = _first_cycle(rule, corrected)
    start = [stage(row) for row in first.tolist()]
    window, episodes = [[w for w, _, _ in start]], np.array([2 * n for *_, n in start])
    seen = [[code >= 2 for code in row[:n]] for row, (*_, n) in zip(first.tolist(), start, strict=True)]

    @cache
    def later_count(wins: int, n: int) -> int:
        values = (1.0,) * wins + (0.0,) * (n - wins)
        return rule.later(Evidence("skill", Interval(0.0), 0.0, (), values))

    for codes in later:
        counts = [later_count(sum(own), len(own)) for own in seen]
        returns = [[code >= 2 for code in row[:n]] for row, n in zip(codes.tolist(), counts, strict=True)]
        window.append([sum(own) / len(own) for own in returns])
        seen = [before + own for before, own in zip(seen, returns, strict=True)]
        episodes += np.array(counts)
    return Seen(np.array(window), np.array([r for _, r, _ in start]), episodes)


def _first_cycle(rule: Allocation, corrected: bool) -> Callable[[list[int]], tuple[float, float, int]]:
    """Play one environment of given outcomes until the rule stops it: (mean return, regret, seeds)."""
    known: dict[tuple[int, ...], tuple[float, float, int]] = {}

    @cache
    def decided(codes: tuple[int, ...]) -> bool:
        return rule.decided([OUTCOMES[code] for code in codes], paired=True)

    def read(codes: tuple[int, ...]) -> tuple[float, float, int]:
        """The estimate depends on the order only by the draw of other orders: one is read for all."""
        key = tuple(sorted(codes))
        if key not in known:
            arms = _arms(codes)
            seen = estimate(arms, rule.weights(arms) if corrected else None)
            known[key] = seen.unhinted_return, seen.regret.mean, len(codes)
        return known[key]

    def play(row: list[int]) -> tuple[float, float, int]:
        for indices in rule.rounds():
            codes = tuple(row[: indices.stop])
            if decided(tuple(sorted(codes))):
                break
        return read(codes)

    return play


def _arms(codes: tuple[int, ...]) -> dict[str, Group]:
    """The groups that these outcomes are of."""
    arms = {}
    for place, arm in enumerate(("hinted", "unhinted")):
        returns = [OUTCOMES[code][place] for code in codes]
        episodes = (Episode("", 0, "e", arm, i, i, (), (), "terminated", r, "") for i, r in enumerate(returns))  # type: ignore[arg-type]
        arms[arm] = Group("e", arm, tuple(episodes))  # type: ignore[arg-type]
    return arms


def rmse(found: Array, truth: Array) -> float:
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def worst_bias(found: Array, truth: Array, by: Array) -> float:
    """The largest mean error of any fifth of the environments, sorted by ``by``."""
    errors = (found - truth)[np.argsort(by)]
    return max(abs(float(part.mean())) for part in np.array_split(errors, 5))


def figure(name: str, value: float, unit: str, bar: str = "", ok: bool = True) -> Figure:
    return Figure(name, round(value, 4), unit, bar, ok if bar else None)


def compare(
    count: int, tau: float, seed: int, *, barred: bool
) -> tuple[list[Figure], dict[str, list[tuple[float, float]]]]:
    """All figures at one strength of the seeds' share; and (episodes, error) points to draw."""
    world = World(count, tau, seed)
    apart, first = world.play(FULL, paired=False), world.play(FULL)
    later = [world.play(FULL) for _ in range(WINDOW - 1)]
    unpaired, paired = fixed(apart, later, FULL), fixed(first, later, FULL)
    wise, naive = adaptive(first, later), adaptive(first, later, corrected=False)
    truth = world.truth(BLEND)
    error = {
        name: rmse(rewards(BLEND, seen.window, seen.regret), truth)
        for name, seen in {"unpaired": unpaired, "paired": paired, "adaptive": wise}.items()
    }
    at = f"correlation {world.correlation:.2f}"
    share = float(wise.episodes.mean() / unpaired.episodes.mean())
    ratio = error["adaptive"] / error["unpaired"]
    figures = [
        figure(f"regret, unpaired 16 + 16, {at}", rmse(unpaired.regret, world.regret), "RMSE"),
        figure(f"regret, paired 16 + 16, {at}", rmse(paired.regret, world.regret), "RMSE"),
        *(figure(f"blend, {name}, {at}", value, "RMSE") for name, value in error.items()),
        figure(f"episodes of adaptive to unpaired 16 + 16, {at}", share, "share", "<= 0.60", share <= 0.6),
        figure(
            f"blend error of adaptive to unpaired 16 + 16, {at}",
            ratio,
            "ratio",
            "<= 1",
            ratio <= 1,
        ),
    ]
    for name, seen, limit in (("adaptive", wise, 0.01), ("adaptive without weights", naive, math.inf)):
        for what, found, true in (("return", seen.window.mean(0), world.w), ("regret", seen.regret, world.regret)):
            value = worst_bias(found, true, world.w)
            figures.append(
                figure(
                    f"{what}, {name}, {at}",
                    value,
                    "worst bias of a fifth",
                    "< 0.01" if limit < 1 else "",
                    value < limit,
                )
            )
    if barred:
        figures += [*by_type(world, unpaired, paired, wise), *coverage(world, first)]
    points = {
        "unpaired": [_point(fixed(apart, later, n), truth) for n in range(6, FULL + 1, 2)],
        "paired": [_point(fixed(first, later, n), truth) for n in range(6, FULL + 1, 2)],
        "adaptive": [_point(wise, truth)],
    }
    return figures, points


def _point(seen: Seen, truth: Array) -> tuple[float, float]:
    return float(seen.episodes.mean()), rmse(rewards(BLEND, seen.window, seen.regret), truth)


def by_type(world: World, unpaired: Seen, paired: Seen, wise: Seen) -> list[Figure]:
    """Bias and error of every reward."""
    figures = []
    for kind in TYPES:
        settings = RewardSection(type=kind)
        truth = world.truth(settings)
        for name, seen in (("unpaired", unpaired), ("paired", paired), ("adaptive", wise)):
            found = rewards(settings, seen.window, seen.regret)
            figures.append(figure(f"{kind}, {name}", float((found - truth).mean()), "bias"))
            figures.append(figure(f"{kind}, {name}", rmse(found, truth), "RMSE"))
    return figures


def coverage(world: World, codes: Array) -> list[Figure]:
    """How often the 95 % interval of regret holds the truth, among learnable environments.

    Where all differences are the same the interval has no width: too sure of itself, and told apart here.
    """
    hits, wide = [], []
    for row, true in zip(codes[world.learnable].tolist(), world.regret[world.learnable], strict=True):
        found = t_interval([OUTCOMES[code][0] - OUTCOMES[code][1] for code in row])
        hits.append(found.low - 1e-9 <= true <= found.high + 1e-9)
        wide.append(found.sd > 0)
    held = np.array(hits)
    return [
        figure("95 % interval of regret, learnable environments", float(held.mean()), "share that holds it"),
        figure("the same where it has a width", float(held[np.array(wide)].mean()), "share that holds it"),
    ]


def seeds_apart(count: int, seed: int) -> list[Figure]:
    """Four seeds played four times each: an environment solved on half of its seeds, and one that is always a coin."""
    rng = np.random.default_rng(seed)
    plain = build_reward(RewardSection(type="plateau"))
    per_seed = build_reward(RewardSection.model_validate({"type": "plateau", "plateau": {"per_seed": True}}))
    figures = []
    for name, rates in (
        ("half of the seeds always solved", (1.0, 0.0)),
        ("every seed solved half of the time", (0.5, 0.5)),
    ):
        values: dict[str, list[float]] = {"plateau": [], "plateau per seed": []}
        for _ in range(count):
            p = np.repeat(rates, 2)
            returns = (rng.random((4, 4)) < p[:, None]).astype(float)
            episodes = tuple(
                Episode("", 0, "e", "unhinted", 4 * s + i, s, (), (), "terminated", float(returns[s, i]), "")
                for s in range(4)
                for i in range(4)
            )
            means = tuple(seed_means(Group("e", "unhinted", episodes)).values())
            evidence = Evidence("skill", Interval(0.0), float(returns.mean()), (float(returns.mean()),), means)
            for kind, reward in (("plateau", plain), ("plateau per seed", per_seed)):
                values[kind].append(reward(evidence))
        figures += [figure(f"{kind}, {name}", float(np.mean(own)), "mean reward") for kind, own in values.items()]
    return figures


def learning_potential(rounds: int, seed: int) -> list[Figure]:
    """What the whole scoring pays under learning potential, against Eq. 4 to 6 worked out from the same plays."""
    rng, every, skills = np.random.default_rng(seed), WINDOW, ("a", "b", "c")
    config = RunConfig.model_validate({"run": {"cycles": rounds * every}, "reward": {"type": "learning_potential"}})
    scoring = Scoring(config, Ledger(every, every), SkillAverages())
    paid: dict[str, float] = {}
    wins: dict[str, list[float]] = {}
    for cycle in range(rounds * every):
        designs = []
        if cycle % every == 0:
            ease = {f"{cycle}/{i}": rng.beta(0.5, 0.5) for i in range(24)}
            designs = [_design(name, cycle, skills[i % 3]) for i, name in enumerate(ease)]
        groups = []
        for name, p in ease.items():
            returns = (rng.random(FULL) < p).astype(float)
            wins.setdefault(name, []).extend(returns)
            groups.append(Group(name, "unhinted", tuple(_plays(name, cycle, returns))))
        paid |= {score.design_id: score.raw for score in scoring.cycle(cycle, designs, groups).scores}
    expected, slow = {}, {}
    for first in range(0, rounds * every, every):
        for i, skill in enumerate(skills):
            own = {name: float(np.mean(wins[name])) for name in (f"{first}/{j}" for j in range(i, 24, 3))}
            mean = float(np.mean(list(own.values())))
            slow[skill] = 0.15 * slow[skill] + 0.85 * mean if skill in slow else mean
            expected |= {name: abs(value - slow[skill]) for name, value in own.items()}
    both = np.array([[paid[name], value] for name, value in expected.items()]).T
    correlation = float(np.corrcoef(both)[0, 1])
    return [
        figure("learning potential paid, against Eq. 4-6", correlation, "correlation", "= 1", correlation > 1 - 1e-9)
    ]


def _design(name: str, cycle: int, skill: str) -> Design:
    return Design(name, cycle, 0, 0, skill, "", (), "", "", "", (), (), environment_id=name)


def _plays(name: str, cycle: int, returns: Array) -> list[Episode]:
    return [
        Episode("", cycle, name, "unhinted", i, i, (), (), "terminated", float(value), "")
        for i, value in enumerate(returns)
    ]


def plot(points: dict[str, list[tuple[float, float]]], target: Path) -> None:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6, 4), layout="constrained")
    axis = canvas.subplots()
    for (name, own), colour in zip(points.items(), ("#d1683c", "#1f6f8b", "#333333"), strict=True):
        axis.plot(
            *zip(*own, strict=True),
            "o-" if len(own) > 1 else "*",
            ms=5 if len(own) > 1 else 14,
            color=colour,
            label=name,
        )
    axis.set_xlabel(f"episodes an environment, window of {WINDOW} cycles")
    axis.set_ylabel("RMSE of the designer's reward (blend)")
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    canvas.savefig(target, dpi=130)


def main() -> int:
    arguments = parser(__doc__, quick="fewer environments: under 50 s on two cores")
    arguments.add_argument("--plot", type=Path, metavar="FILE", help="draw error against episodes")
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    count = 6_000 if options.quick else 30_000
    figures, points = compare(count, 6.0, options.seed, barred=True)
    figures += compare(count, 2.0, options.seed, barred=False)[0]
    figures += seeds_apart(500, options.seed)
    figures += learning_potential(10, options.seed)
    if options.plot:
        plot(points, options.plot)
    return 0 if show(figures, options.json) else 1


if __name__ == "__main__":
    raise SystemExit(main())
