"""Every estimator of the advantage under every average, through the local trainer: the gradient is that of the formula.

The formula is written down here a sample at a time, on plain log-probabilities, without rows or folded weights.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

import pytest
from reference import logprobs_of

from spadework.config import AgentSection, UpdateSection
from spadework.policies.base import Hyperparameters, SamplingParams
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.averages import build_average
from spadework.selfplay.score.rows import Scored, agent_rows, build_batch
from spadework.types import Episode, Group, Segment

torch = pytest.importorskip("torch")

RETURNS = (1.0, 0.0, 0.5, 1.0, 0.0, 0.0)
SEEDS = (3, 3, 3, 8, 8, 8)
LENGTHS = (3, 9, 5, 4, 7, 2)
DESIGN = (2.5, 6)
"""Advantage and length of a design in the same batch."""
CONSTANT = 11


def by_hand(kind: str, within: str | None = None) -> list[float]:
    if kind == "per_seed":
        halves = [by_hand_of(within or "", RETURNS[:3]), by_hand_of(within or "", RETURNS[3:])]
        return list(itertools.chain(*halves))
    return by_hand_of(kind, RETURNS)


def by_hand_of(kind: str, returns: Sequence[float]) -> list[float]:
    mean, std = statistics.fmean(returns), statistics.pstdev(returns)
    if kind == "leave_one_out":
        return [own - statistics.fmean([*returns[:i], *returns[i + 1 :]]) for i, own in enumerate(returns)]
    return [(own - mean) / (std if kind == "z_score" else 1.0) for own in returns]


async def sampled(policy, index: int, length: int) -> Segment:
    chat = policy.chat([{"role": "user", "content": f"Prompt {index % 2}"}])
    await chat.reply(SamplingParams(length, temperature=1.0), (7, index))
    (segment,) = chat.segments
    return segment


@pytest.mark.parametrize("average", ["token_mean", "sample_mean", "constant_length"])
@pytest.mark.parametrize(
    ("kind", "within"),
    [("z_score", None), ("mean", None), ("leave_one_out", None), ("per_seed", "z_score"), ("per_seed", "mean")],
)
async def test_the_gradient_is_that_of_the_formula(kind: str, within: str | None, average: str) -> None:
    from spadework.policies.local.models import load_model
    from spadework.policies.local.policy import LocalOptions, load_local

    options = LocalOptions(slots=8, threads=1, dtype="float32", max_length=512)
    policy, trainer = load_local("tiny-random", run_seed=3, options=options)
    segments = [await sampled(policy, i, length) for i, length in enumerate((*LENGTHS, DESIGN[1]))]
    episodes = tuple(
        Episode(f"e{i}", 0, "e", "unhinted", i, SEEDS[i], (), (segments[i],), "terminated", value)
        for i, value in enumerate(RETURNS)
    )
    agent = AgentSection.model_validate(
        {"advantage": kind, **({"per_seed": {"within": within}} if within is not None else {})}
    )
    update = UpdateSection.model_validate({"average": average, "constant_length": {"tokens": CONSTANT}})
    scored = agent_rows([Group("e", "unhinted", episodes)], build_advantage(agent), agent)
    scored.append(Scored((segments[-1],), DESIGN[0], "designer", "d", "d"))
    batch = build_batch(scored, build_average(update))
    metrics = await trainer.train(batch, Hyperparameters(lr=0.0, grad_clip=1e9, weight_decay=0.0))

    model = load_model("tiny-random", seed=3).model
    advantages = by_hand(kind, within)
    tokens = [segment.sampled for segment in segments]
    samples = sum(advantage != 0 for advantage in advantages) + 1
    trained = [n for n, advantage in zip(tokens, advantages, strict=False) if advantage != 0]
    objective = torch.zeros(())
    for segment, advantage, role in zip(segments, [*advantages, DESIGN[0]], [*["agent"] * 6, "designer"], strict=True):
        own = trained if role == "agent" else [tokens[-1]]
        length = {
            "token_mean": statistics.fmean(own),
            "sample_mean": segment.sampled,
            "constant_length": CONSTANT,
        }[average]
        mask = torch.tensor(segment.loss_mask[1:])
        objective = objective + advantage / length * (mask * logprobs_of(model, segment.tokens)).sum() / samples
    objective.backward()
    squares = [p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None]
    assert metrics["grad_norm"] == pytest.approx(float(torch.stack(squares).sum().sqrt()), rel=2e-4)
    await policy.close()
