"""Every equation of the paper, written down anew in a few lines and held against the product on random input.

The formulas here share no code with the product: plain numpy, from the text of the paper and of its launchers.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from spadework.config import AgentSection, RewardSection, RunConfig
from spadework.episode import episode_return
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.payment import centre, role_scale
from spadework.selfplay.score.rewards import plateau
from spadework.selfplay.score.rows import build_batch
from spadework.selfplay.score.scoring import CycleScores, Scoring
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import Design, Episode, Fault, Group, Segment

ROUNDS = 6
SKILLS = ("maths", "space", "logic")


def segment(length=2):
    return Segment((1,) * (length + 1), (False, *(True,) * length), (0.0, *(-1.0,) * length), 0)


class World:
    """Design cycles of random plays, through the product's own scoring, with everything that it was given.

    ``shuffled`` hands designs and groups over in another order; faults, anchors and rejected designs are among them.
    """

    def __init__(self, seed, kind="blend", every=3, shuffled=False, **reward):
        self.rng, self.every = random.Random(seed), every
        self.order = random.Random(seed + 1) if shuffled else None
        settings = {"type": kind, "role_scaling": False, **reward}
        self.config = RunConfig.model_validate(
            {"run": {"cycles": ROUNDS * every}, "designer": {"every": every}, "reward": settings}
        )
        self.scoring = Scoring(self.config, Ledger(every, every), SkillAverages())
        self.skill: dict[str, str] = {}
        self.born: dict[str, int] = {}
        self.unhinted: dict[str, list[list[float]]] = {}
        self.hinted: dict[str, list[float]] = {}
        self.agent_samples: list[int] = []
        self.results: list[CycleScores] = [self.cycle(cycle) for cycle in range(ROUNDS * every)]
        self.paid = {score.design_id: score for result in self.results for score in result.scores}

    def cycle(self, cycle):
        rng, designs, groups = self.rng, [], []
        if cycle % self.every == 0:
            self.playing = {f"{cycle}-{i}": (rng.betavariate(0.5, 0.5), rng.random()) for i in range(9)}
            for i, name in enumerate(self.playing):
                self.skill[name], self.born[name], self.unhinted[name] = SKILLS[i % 3], cycle, []
                designs.append(self.design(cycle, name))
        for name, (ease, hinted_ease) in self.playing.items():
            returns = [self.draw(ease) for _ in range(8)]
            self.unhinted[name].append([value for value in returns if not math.isnan(value)])
            groups.append(self.group(cycle, name, "unhinted", returns))
            if self.born[name] == cycle:
                # both arms lose the same plays, so that pairing by seed leaves none out
                hinted = [math.nan if math.isnan(value) else self.draw(hinted_ease, 0.0) for value in returns]
                self.hinted[name] = [value for value in hinted if not math.isnan(value)]
                groups.append(self.group(cycle, name, "hinted", hinted))
        groups.append(self.group(cycle, "anchor", "unhinted", [self.draw(0.9) for _ in range(8)]))
        self.agent_samples.append(sum(len(group.valid) for group in groups if group.arm == "unhinted"))
        if self.order is not None:
            self.order.shuffle(designs)
            self.order.shuffle(groups)
        return self.scoring.cycle(cycle, designs, groups)

    def draw(self, ease, faulty=0.05):
        """A return in [-1, 1], mostly 0 or 1; NaN for a play that a fault ended."""
        if self.rng.random() < faulty:
            return math.nan
        return self.rng.choice([-0.5, 0.25, 0.75]) if self.rng.random() < 0.1 else float(self.rng.random() < ease)

    def design(self, cycle, name):
        design_id = f"d{name}"
        return Design(
            design_id, cycle, 0, 0, self.skill[name], "", (), "", "", "", (segment(),), (), environment_id=name
        )

    def group(self, cycle, name, arm, returns):
        fault = Fault("sandbox", "SBX001", "gone")
        episodes = [
            Episode(
                f"{cycle}/{name}/{arm}/{i}",
                cycle,
                name,
                arm,
                i,
                i,
                (),
                (segment(1 + i % 3),),
                "fault" if math.isnan(value) else "terminated",
                value,
                fault=fault if math.isnan(value) else None,
            )
            for i, value in enumerate(returns)
        ]
        return Group(name, arm, tuple(episodes))

    def rounds(self):
        """Design cycle -> its environments, in order."""
        return [
            (cycle, [n for n, born in self.born.items() if born == cycle]) for cycle in sorted({*self.born.values()})
        ]

    def window(self, name):
        return float(np.mean([np.mean(own) for own in self.unhinted[name] if own]))

    def regret(self, name):
        return float(np.mean(self.hinted[name]) - np.mean(self.unhinted[name][0]))

    def raw(self):
        return {name: self.paid[f"d{name}"].raw for name in self.born}


def tent(w, low=0.4, high=0.6, slope=0.25):
    """The plateau as the paper draws it: a trapezoid through four points."""
    return float(np.interp(w, [low - slope, low, high, high + slope], [0.0, 1.0, 1.0, 0.0]))


def test_plateau_on_random_bands():
    rng = random.Random(0)
    for _ in range(2_000):
        low, high, slope = *sorted((rng.random(), rng.random())), rng.uniform(0.01, 1)
        w = rng.choice([low, high, low - slope, high + slope, 0.0, 1.0, rng.random()])
        assert plateau(w, low, high, slope) == pytest.approx(tent(w, low, high, slope), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("regret", lambda world, name: max(0.0, world.regret(name))),
        ("plateau", lambda world, name: tent(np.clip(world.window(name), 0, 1))),
        ("variance", lambda world, name: (w := np.clip(world.window(name), 0, 1)) * (1 - w)),
        (
            "blend",
            lambda world, name: (
                0.6 * tent(np.clip(world.window(name), 0, 1)) + 0.4 * np.clip(world.regret(name) / 0.15, 0, 1)
            ),
        ),
        (
            "spread",
            lambda world, name: math.exp(-((np.var(np.concatenate(world.unhinted[name])) - 0.25) ** 2) / (2 * 0.01)),
        ),
        (
            "micro_lp",
            lambda world, name: np.polyfit(range(3), [np.mean(own) for own in world.unhinted[name]], 1)[0],
        ),
    ],
)
def test_raw_rewards(kind, formula, seed):
    world = World(seed, kind)
    for name, raw in world.raw().items():
        assert raw == pytest.approx(formula(world, name), abs=1e-9)


def equations_4_to_6(world, gamma=0.85):
    """Eq. 4: a skill's return in a round; Eq. 5: its slow average; Eq. 6: each environment's distance from it."""
    slow, found = {}, {}
    for _, names in world.rounds():
        for skill in SKILLS:
            own = [name for name in names if world.skill[name] == skill]
            mean = np.mean([world.window(name) for name in own])
            slow[skill] = mean if skill not in slow else (1 - gamma) * slow[skill] + gamma * mean
            found |= {name: abs(world.window(name) - slow[skill]) for name in own}
    return found


@pytest.mark.parametrize("seed", range(4))
def test_learning_potential_in_any_order(seed):
    plain, shuffled = World(seed, "learning_potential"), World(seed, "learning_potential", shuffled=True)
    expected = equations_4_to_6(plain)
    for world in (plain, shuffled):
        assert world.raw() == pytest.approx(expected, abs=1e-9)
    assert np.corrcoef([plain.raw()[name] for name in expected], list(expected.values()))[0, 1] > 1 - 1e-9


def test_the_averages_that_are_logged():
    world = World(5, "regret")
    fast = slow = None
    for result, (_, names) in zip([one for one in world.results if one.metrics], world.rounds(), strict=False):
        mean = np.mean([world.window(name) for name in names if world.skill[name] == "space"])
        fast = mean if fast is None else 0.02 * fast + 0.98 * mean
        slow = mean if slow is None else 0.15 * slow + 0.85 * mean
        if len(result.scores) == 9:  # the last cycle flushes two rounds at once
            assert result.metrics["skill/space/fast_average"] == pytest.approx(fast)
            assert result.metrics["skill/space/learning_potential"] == pytest.approx(abs(fast - slow), abs=1e-12)


@pytest.mark.parametrize("kind", ["blend", "learning_potential", "regret"])
def test_rewards_are_centred_by_skill_within_a_design_cycle(kind):
    world = World(1, kind)
    for _, names in world.rounds():
        for skill in SKILLS:
            own = [world.paid[f"d{name}"] for name in names if world.skill[name] == skill]
            mean = np.mean([score.raw for score in own])
            assert [score.reward for score in own] == pytest.approx([score.raw - mean for score in own])


def test_the_whole_design_cycle_stands_in_for_small_skills():
    rng = random.Random(2)
    for _ in range(300):
        n, below = rng.randint(1, 12), rng.randint(1, 5)
        raws, skills = [rng.uniform(-1, 1) for _ in range(n)], [rng.choice("abc") for _ in range(n)]
        expected = []
        for raw, skill in zip(raws, skills, strict=True):
            own = [other for other, name in zip(raws, skills, strict=True) if name == skill]
            expected.append(raw - np.mean(own if len(own) >= below else raws))
        assert centre(raws, skills, below) == pytest.approx(expected)


def test_designs_are_due_after_the_delay_and_the_last_cycle_flushes():
    world = World(3)
    for cycle, result in enumerate(world.results):
        due = {score.design_id for score in result.scores}
        last = cycle == ROUNDS * 3 - 1
        assert due == {
            f"d{name}" for name, born in world.born.items() if born == cycle - 3 or (last and born >= cycle - 2)
        }


def test_the_weight_between_the_roles_counts_every_sample():
    world = World(4, role_scaling=True)
    for cycle, result in enumerate(world.results):
        for score in result.scores:
            scale = min(50, world.agent_samples[cycle] / len(result.scores) * 3)
            assert score.advantage == pytest.approx(score.reward * scale)
    # 24 environments of 16 plays each, 24 designs, k = 4: 64, cut to 50, whatever share of the groups has spread
    assert role_scale(24 * 16, 24, 4, RewardSection()) == 50
    assert role_scale(24 * 8, 24, 4, RewardSection()) == 32


@pytest.mark.parametrize("seed", range(3))
def test_agent_advantages_are_z_scores_of_valid_unhinted_plays(seed):
    world = World(seed)
    rows = {row.source_id: row.advantage for result in world.results for row in result.agent}
    assert not any("/hinted/" in name for name in rows)
    for cycle in range(ROUNDS * 3):
        for name, born in world.born.items():
            offset = cycle - born
            if not 0 <= offset < 3:
                continue
            returns = np.array(world.unhinted[name][offset])
            found = [advantage for source, advantage in rows.items() if source.startswith(f"{cycle}/{name}/unhinted/")]
            if returns.std() == 0:
                assert found == []
            else:
                assert found == pytest.approx((returns - returns.mean()) / (returns.std() + 1e-8), abs=1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_other_estimators(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    returns, seeds = rng.choice([0.0, 0.3, 1.0], n), rng.integers(0, 3, n)
    others = np.array([returns[i] - np.delete(returns, i).mean() if n > 1 else 0.0 for i in range(n)])
    expected = {"mean": returns - returns.mean(), "leave_one_out": others}
    for kind, advantages in expected.items():
        found = build_advantage(AgentSection(advantage=kind))(returns.tolist(), seeds.tolist())
        assert found == pytest.approx(advantages, abs=1e-9)
    own = np.array([returns[i] - returns[seeds == seeds[i]].mean() for i in range(n)])
    section = AgentSection.model_validate({"advantage": "per_seed", "per_seed": {"within": "mean"}})
    assert build_advantage(section)(returns.tolist(), seeds.tolist()) == pytest.approx(own, abs=1e-9)


def test_a_batch_is_the_token_mean_of_each_role_and_shares_by_samples():
    world = World(6)
    for result in world.results:
        scored = [item for item in [*result.agent, *result.designer] if item.advantage]
        if not scored:
            continue
        rows = build_batch([*result.agent, *result.designer], world.scoring.average)
        for role in ("agent", "designer"):
            own = [item for item in scored if item.role == role]
            if not own:
                continue
            tokens = [(item.advantage, sum(part.sampled for part in item.segments)) for item in own]
            mean = sum(advantage * n for advantage, n in tokens) / sum(n for _, n in tokens)
            total = math.fsum(value for row in rows if row.role == role for value in row.advantages)
            assert total == pytest.approx(mean * len(own) / len(scored), abs=1e-9)


def test_returns_of_an_episode():
    rng = random.Random(7)
    for _ in range(500):
        rewards = [rng.uniform(-2, 2) for _ in range(rng.randint(1, 6))]
        assert episode_return(rewards, "terminated", "last", 1.0) == np.clip(rewards[-1], -1, 1)
        assert episode_return(rewards, "truncated", "last", 1.0) == 0.0
        assert episode_return(rewards, "token_limit", "last", 1.0) == 0.0
