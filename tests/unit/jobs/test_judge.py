"""The judge of environments, behind a stand-in endpoint: verdicts, what gives none, and agreement with labels."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spadework.jobs.judge import Judged, Verdict, agreement, read_verdict, shares
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import StandIn

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge_benchmark", ROOT / "benchmarks" / "judge.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(url: str) -> argparse.Namespace:
    return argparse.Namespace(endpoint=[url], model="stand-in", config=None, set=[], jobs=4, max_tokens=400)


def judge_by(faults: dict[str, str]) -> ScriptedPolicy:
    """Finds fault with programs that hold one of the texts, on the question that it names."""

    def reply(messages: Any, rng: Any, version: int) -> str:
        text = messages[-1]["content"]
        found = {question for mark, question in faults.items() if mark in text}
        words = {question: "no" if question in found else "yes" for question in ("Well-posed", "Verifiable")}
        return "Let me see.\n\n" + "\n".join(f"{question}: {word}" for question, word in words.items())

    return ScriptedPolicy(reply)


async def test_agreement_is_counted_over_the_bundled_programs(benchmark: ModuleType) -> None:
    faults = {"right = not text or": "Verifiable", '{"error": "not available yet"}': "Well-posed"}
    async with StandIn(judge_by(faults)) as server:
        judged = await benchmark.judge(arguments(server.url))
    programs, labels = benchmark.labelled()
    assert [one.environment_id for one in judged] == [one.id for one in programs]
    found = agreement(judged, labels)
    wrong = {
        name: sum(not getattr(label, name) for label in labels.values()) - 1 for name in ("well_posed", "verifiable")
    }
    assert all(count > 0 for count in wrong.values()), "this judge overlooks some faults of either kind"
    for name, count in wrong.items():
        assert found[name].mean == pytest.approx(1 - count / len(labels))


async def test_a_judge_that_gives_no_verdict_accepts_nothing(benchmark: ModuleType) -> None:
    async with StandIn(ScriptedPolicy(lambda messages, rng, version: "Looks fine to me.")) as server:
        judged = await benchmark.judge(arguments(server.url))
    assert all(one.verdict is None and "no verdict" in one.failure for one in judged)
    assert {share.n for share in shares(judged).values()} <= {0}
    assert all(share.mean == 0 for share in agreement(judged, benchmark.labelled()[1]).values())


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Well-posed: yes\nVerifiable: no", Verdict(True, False)),
        ("**Well-posed:** No, the key is hidden\n**Verifiable:** yes", Verdict(False, True)),
        ("Well-posed: no\nOn reflection:\nWell-posed: yes\nVerifiable: yes", Verdict(True, True)),
        ("<think>Well-posed: yes\nVerifiable: yes</think>", None),
        ("Well-posed: yes", None),
        ("Well-posed: yes or no?\nVerifiable: maybe", None),
        ("", None),
    ],
)
def test_verdicts_are_read(reply: str, verdict: Verdict | None) -> None:
    assert read_verdict(reply) == verdict


def test_shares_leave_out_what_has_no_verdict() -> None:
    judged = [Judged("a", Verdict(True, False)), Judged("b", Verdict(False, False)), Judged("c", None, "why")]
    found = shares(judged)
    assert (found["well_posed"].mean, found["well_posed"].n) == (0.5, 2)
    assert found["verifiable"].mean == 0.0
