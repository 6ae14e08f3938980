"""Every hard Reasoning-Gym task: its stored answer wins, another does not, and what is judged cannot break out."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spadework.envs.sandbox.confined import ConfinedGrader
from spadework.errors import GraderError
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.evals.runner import Choice, Where, run_benchmark
from spadework.evals.suites import reasoning_gym as suite
from spadework.testing.scripted import ScriptedPolicy

pytest.importorskip("reasoning_gym", reason="needs the extra `eval` (whose pycosat needs a C compiler)")
TASKS = suite.load(suite.SHIPPED)
FIRST = suite.EPISODES[0]
NO_STORED_ANSWER = {"graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
STORED_ANSWER_LOSES = {"jugs"}
"""The package's own answer to this problem gets less than its full score."""
ANYTHING_ELSE_WINS = {"game_of_life_halting"}
"""The package takes every answer that is not empty."""


@pytest.fixture
async def grader() -> AsyncIterator[ConfinedGrader]:
    grader = ConfinedGrader("spadework.evals.suites.reasoning_gym_tasks")
    yield grader
    await grader.close()


def test_eval_tasks_are_the_hundred() -> None:
    found = Counter(row["category"] for row in TASKS.values())
    assert found == {"math": 31, "algorithmic": 36, "cognition": 24, "logic": 9}


async def test_eval_gold_reasoning_gym(grader: ConfinedGrader) -> None:
    async def both(task: str) -> tuple[str, float, float]:
        asked = {"config": TASKS[task]["config"], "index": FIRST}
        problem = await grader.prepare(task, **asked)
        assert problem["question"]
        if problem["answer"] is None:
            return task, -1.0, await grader.judge(task, "no such answer", **asked)
        right = await grader.judge(task, problem["answer"], **asked)
        return task, right, await grader.judge(task, "no such answer", **asked)

    scores = await asyncio.gather(*(both(task) for task in TASKS))
    assert {task for task, right, _ in scores if right < 0} == NO_STORED_ANSWER
    assert {task for task, right, _ in scores if 0 <= right < suite.WIN} == STORED_ANSWER_LOSES
    assert {task for task, _, wrong in scores if wrong >= suite.WIN} == ANYTHING_ELSE_WINS


async def test_eval_gold_reasoning_gym_through_a_policy(tmp_path: Path, grader: ConfinedGrader) -> None:
    answers = {}
    for task in ("chain_sum", "base_conversion"):
        for index in suite.EPISODES:
            problem = await grader.prepare(task, config=TASKS[task]["config"], index=index)
            answers[problem["question"]] = problem["answer"]

    def gold(messages, rng, version) -> str:  # type: ignore[no-untyped-def]
        question = messages[-1]["content"].removesuffix(f"\n\n{suite.ASK}")
        return f"<think>hm <answer>0</answer></think>First <answer>1</answer>, no: <answer>{answers[question]}</answer>"

    where = Where(tmp_path, choice=Choice(only=("chain_sum", "base_conversion")))
    result = await run_benchmark(open_suite("reasoning-gym", SuiteOptions()), ScriptedPolicy(gold), {}, where)
    assert (result.n, result.errors, result.score().mean) == (16, 0, 1.0)
    assert set(result.groups()) == {"math", "algorithmic"}
    assert "reasoning-gym" in result.setting.versions


async def test_eval_answers_are_judged_in_confinement(tmp_path: Path, grader: ConfinedGrader) -> None:
    asked = {"config": TASKS["countdown"]["config"], "index": FIRST}
    await grader.prepare("countdown", **asked)
    proof = tmp_path / "proof"
    tmp_path.chmod(0o777)
    assert await grader.judge("countdown", f"__import__('pathlib').Path({str(proof)!r}).touch()", **asked) < suite.WIN
    assert not proof.exists()
    with pytest.raises(GraderError, match="HANG: countdown: no verdict within"):
        await grader.judge("countdown", "9**9**9**9", **asked)
    assert await grader.judge("countdown", "1", **asked) < suite.WIN, "the worker goes on"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<answer> 7 </answer> and \\boxed{8}", "7"),
        ("\\boxed{7}, in other words \\boxed{8}", "8"),
        ("<answer>7", None),
        ("7", None),
    ],
)
def test_eval_last_tag_else_last_box(reply: str, answer: str | None) -> None:
    assert suite.read_answer(reply) == answer
