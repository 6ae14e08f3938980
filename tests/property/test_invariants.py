"""What holds for any numbers: centring, z-scores, masks and lengths, shared seeds, state that survives."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadework.config import AgentSection, PlaySection, RewardSection
from spadework.intervals import Interval
from spadework.parts import NoSettings
from spadework.selfplay.design.memory import Memory, Remembered
from spadework.selfplay.play.plan import plan_plays
from spadework.selfplay.records import Evidence, Outcome
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.averages import TokenMean
from spadework.selfplay.score.payment import centre, raw_reward
from spadework.selfplay.score.rewards import build_reward, plateau
from spadework.selfplay.score.rows import Scored, build_batch
from spadework.types import Environment, Segment

returns = st.floats(-1, 1, allow_nan=False)


@given(st.sampled_from(["z_score", "mean", "leave_one_out"]), st.lists(returns, min_size=2, max_size=32))
def test_advantages_of_a_group_sum_to_zero_and_keep_the_order(kind, values):
    advantages = build_advantage(AgentSection(advantage=kind))(values, range(len(values)))
    if not any(advantages):
        assert max(values) - min(values) < 1e-3
        return
    assert math.fsum(advantages) == pytest.approx(0, abs=1e-6)
    assert sorted(range(len(values)), key=lambda i: (values[i], advantages[i])) == sorted(
        range(len(values)), key=lambda i: (advantages[i], values[i])
    )


@given(
    st.sampled_from(["z_score", "mean", "leave_one_out"]), st.lists(st.tuples(returns, st.integers(0, 4)), max_size=32)
)
def test_per_seed_advantages_sum_to_zero_on_every_seed(within, plays):
    values, seeds = [value for value, _ in plays], [seed for _, seed in plays]
    section = AgentSection.model_validate({"advantage": "per_seed", "per_seed": {"within": within}})
    advantages = build_advantage(section)(values, seeds)
    for seed in set(seeds):
        own = [advantage for advantage, other in zip(advantages, seeds, strict=True) if other == seed]
        assert math.fsum(own) == pytest.approx(0, abs=1e-6)


@given(st.lists(st.tuples(returns, st.sampled_from("abc")), max_size=24))
def test_centred_rewards_sum_to_zero_in_every_skill_of_two_or_more(pairs):
    raws, skills = [raw for raw, _ in pairs], [skill for _, skill in pairs]
    rewards = centre(raws, skills)
    for skill in set(skills):
        own = [reward for reward, name in zip(rewards, skills, strict=True) if name == skill]
        if len(own) > 1:
            assert math.fsum(own) == pytest.approx(0, abs=1e-9)


@given(st.floats(-2, 3))
def test_the_plateau_stays_in_the_unit_interval(rate):
    assert 0 <= plateau(rate) <= 1


@given(
    st.sampled_from(["regret", "blend", "plateau", "learning_potential", "micro_lp", "variance", "spread"]),
    returns,
    returns,
    st.lists(returns, min_size=1, max_size=8),
)
def test_raw_rewards_are_finite_and_floored(kind, hinted, unhinted, window):
    outcomes = tuple(Outcome(cycle, "unhinted", cycle, value) for cycle, value in enumerate(window))
    section = RewardSection(type=kind)
    evidence = Evidence(
        "s", Interval(hinted - unhinted), unhinted, tuple(window), outcomes=outcomes, skill_returns=tuple(window)
    )
    raw = raw_reward(evidence, build_reward(section), section)
    assert raw is not None
    assert math.isfinite(raw)
    if kind not in ("micro_lp",):
        assert raw >= 0


segments = st.integers(1, 12).flatmap(
    lambda n: st.builds(
        Segment,
        tokens=st.lists(st.integers(0, 99), min_size=n, max_size=n).map(tuple),
        loss_mask=st.lists(st.booleans(), min_size=n, max_size=n).map(tuple),
        logprobs=st.lists(st.floats(-9, 0), min_size=n, max_size=n).map(tuple),
        policy_version=st.integers(0, 5),
    )
)


@given(st.lists(st.tuples(st.lists(segments, max_size=3), st.floats(-3, 3)), max_size=8))
def test_rows_have_one_length_and_only_sampled_tokens_carry_weight(items):
    scored = [Scored(tuple(own), advantage, "agent", "g", str(i)) for i, (own, advantage) in enumerate(items)]
    for row in build_batch(scored, TokenMean(NoSettings())):
        assert len(row.tokens) == len(row.loss_mask) == len(row.logprobs) == len(row.advantages)
        assert all(sampled or weight == 0 for sampled, weight in zip(row.loss_mask, row.advantages, strict=True))
        assert any(row.loss_mask)


@given(st.integers(0, 1000), st.integers(0, 400), st.integers(1, 20), st.integers(1, 20))
def test_both_arms_share_their_seeds(run_seed, cycle, unhinted, hinted):
    environments = [Environment(name, "p", "h", "s", "games", "d", 0, 0) for name in ("a", "b")]
    plays = plan_plays(environments, lambda e: e.id == "a", cycle, run_seed, (unhinted, hinted))
    seeds = {(p.environment.id, p.arm, p.index): p.seed for p in plays}
    assert len(seeds) == 2 * unhinted + hinted
    for index in range(min(unhinted, hinted)):
        assert seeds["a", "hinted", index] == seeds["a", "unhinted", index]
    assert len({seeds[name, "unhinted", i] for name in "ab" for i in range(unhinted)}) == 2 * unhinted
    assert len({p.key for p in plays}) == len(plays)
    unpaired = plan_plays(
        environments, lambda e: e.id == "a", cycle, run_seed, (unhinted, hinted), PlaySection(paired=False)
    )
    assert [p.seed for p in unpaired if p.arm == "unhinted"] == [p.seed for p in plays if p.arm == "unhinted"]
    assert not {p.seed for p in unpaired if p.arm == "hinted"} & {p.seed for p in unpaired if p.arm == "unhinted"}


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), returns, returns), max_size=40), st.integers(1, 6))
def test_memory_survives_json(entries, size):
    memory = Memory(size)
    for name, rate, regret in entries:
        memory.remember(Remembered(str(name), "program", "s", "doc", 0, rate, regret))
    other = Memory(size)
    other.load_state_dict(json.loads(json.dumps(memory.state_dict())))
    assert other.entries == memory.entries
    assert len(memory) <= size
