"""Held-out environments: siblings never straddle the split; arms, ages and faults are told apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from spadework.domains.games_demo import PROGRAM, demo_script
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.evals.heldout import HeldOut, Rules, by_age, by_skill, split_by_document
from spadework.evals.records import Setting
from spadework.evals.runner import Where, run_benchmark
from spadework.policies.base import SamplingParams
from spadework.rollout import PlaySettings
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment

RULES = Rules(settings=lambda domain: PlaySettings((), Limits(), SamplingParams(64)), episodes=6)


def environment(number: int, document: str, cycle: int = 0, source: str = "") -> Environment:
    return Environment(
        id=f"e{number}",
        source=source or PROGRAM.format(low=number, high=number + 50),
        hint="Carry.",
        skill="Optimization" if number % 2 else "Causal Inference",
        domain="games",
        document_id=document,
        cycle=cycle,
        designer_version=0,
    )


def test_eval_split_keeps_siblings_together_and_does_not_move() -> None:
    pool = [environment(number, f"d{number % 40}") for number in range(120)]
    pool.append(replace(environment(200, "d0"), source=environment(1, "").source))  # a copy joins d0 and d1
    train, held_out = split_by_document(pool, 0.25, seed=3)
    assert len(train) + len(held_out) == 121
    assert not {one.document_id for one in train} & {one.document_id for one in held_out}
    assert not {one.sha256 for one in train} & {one.sha256 for one in held_out}
    assert 0.1 < len(held_out) / 121 < 0.45
    fewer = [one for one in pool if one.document_id not in ("d0", "d1", "d7")]
    again = split_by_document(fewer, 0.25, seed=3)[1]
    assert {one.id for one in again} == {one.id for one in held_out if one in fewer}
    assert split_by_document(pool, 0.25, seed=4)[1] != held_out


async def test_eval_heldout_plays_both_arms_on_the_same_seeds(tmp_path: Path) -> None:
    broken = environment(9, "d9", source="class BrokenEnv:\n    def reset(self, seed=None):\n        return 1 / 0\n")
    asked = by_skill([environment(1, "d1"), environment(2, "d2"), broken])
    async with ForkServer() as sandbox:
        results = {
            arm: await run_benchmark(
                HeldOut(f"heldout-{arm}", asked, arm, sandbox, RULES), ScriptedPolicy(demo_script), {}, Where(tmp_path)
            )
            for arm in ("unhinted", "hinted")
        }
    plain, hinted = results["unhinted"], results["hinted"]
    assert (plain.n, plain.errors) == (18, 6), "a broken environment's episodes are failures and stay counted"
    assert {item.fault.kind for item in plain.items if item.fault} == {"program"}
    assert set(plain.groups()) == {"Optimization", "Causal Inference"}
    seeds = [{item.id: item.detail.get("seed") for item in result.items} for result in (plain, hinted)]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0].values())) == 13
    assert hinted.score().mean > plain.score().mean, "the script adds better with a hint"


def test_eval_ages_are_equal_spans() -> None:
    ages = by_age([environment(number, "", cycle=number // 2) for number in range(12)], 3)
    assert [label for _, label in ages[::4]] == ["cycles 0-1", "cycles 2-3", "cycles 4-5"]


@pytest.mark.parametrize("arm", ["unhinted", "hinted"])
def test_eval_heldout_leaves_out_what_has_no_hint_from_the_hinted_arm_alone(arm: str) -> None:
    asked = by_skill([environment(1, "d1"), replace(environment(2, "d2"), hint="")])
    suite = HeldOut("heldout", asked, arm, None, RULES)  # type: ignore[arg-type]
    assert len(suite.items()) == (12 if arm == "unhinted" else 6)


def test_eval_heldout_results_of_other_ages_or_prompts_are_told_apart() -> None:
    pool = [environment(number, "", cycle=number) for number in range(6)]

    def setting(parts: int, prompt: str = "Play.") -> Setting:
        told = PlaySettings(({"role": "system", "content": prompt},), Limits(), SamplingParams(64))
        rules = replace(RULES, settings=lambda domain: told)
        return HeldOut("transfer", by_age(pool, parts), "unhinted", None, rules).setting  # type: ignore[arg-type]

    assert setting(3) == setting(3)
    assert setting(3).data != setting(2).data
    assert setting(3).sampling["prompts"] != setting(3, "Win.").sampling["prompts"]
