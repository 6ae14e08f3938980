"""The single-turn suites as tasks of inspect-ai.

    inspect eval spadework/aime2025 -T data=aime.jsonl --model openai-api/local/NAME
    inspect eval spadework/reasoning_gym --model spadework/smollm2-135m

inspect-ai finds the tasks through the package's entry point (``integrations.inspect``). Its OpenAI-compatible provider
drops ``top_k``, so tasks pass it in ``extra_body``. Prompts and grading are those of ``spadework eval``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from spadework.errors import FaultError
from spadework.evals.questions import QuestionSuite
from spadework.evals.records import Item
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.policies.base import SamplingParams


def suite_task(suite: QuestionSuite) -> Task:
    """A suite as a task. Every try is one sample; the tries of a problem form a cluster for the standard error."""
    samples = [
        Sample(input="", id=item.id, metadata={"item": item.id, "group": item.group, "unit": item.unit})
        for item in suite.items()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=suite.setting.suite),
        solver=[_ask(suite)],
        scorer=_graded(suite),
        config=generate_config(suite.sampling),
        version=suite.setting.preset,
    )


def generate_config(sampling: SamplingParams) -> GenerateConfig:
    """Sampling parameters in inspect-ai's form. ``top_k`` goes into the body too, for providers that drop it."""
    return GenerateConfig(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k or None,
        extra_body={"top_k": sampling.top_k} if sampling.top_k else None,
    )


@solver
def _ask(suite: QuestionSuite) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = await suite.pose(*suite.find(_item(state)))
        return await generate(state)

    return solve


@scorer(metrics=[mean(), stderr(cluster="unit")])
def _graded(suite: QuestionSuite) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        question, trial = suite.find(_item(state))
        try:
            grade = await suite.grade(question, trial, state.output.completion)
        except FaultError as error:
            return Score(value=0.0, explanation=str(error))
        return Score(value=grade.score, answer=grade.answer, metadata=grade.detail)

    return score


def _item(state: TaskState) -> Item:
    data = state.metadata
    return Item(str(data["item"]), str(data["group"]), str(data["unit"]))


def _opened(name: str, data: str | None, preset: str, limit: Any = None) -> Task:
    suite = open_suite(name, SuiteOptions(preset=preset, data=Path(data) if data else None))
    assert isinstance(suite, QuestionSuite)
    return suite_task(suite)


@task
def reasoning_gym(preset: str = "paper", data: str | None = None) -> Task:
    """The 100 hard Reasoning-Gym tasks."""
    return _opened("reasoning-gym", data, preset)


@task
def aime2025(data: str, preset: str = "paper") -> Task:
    """AIME 2025 over the user's file."""
    return _opened("aime2025", data, preset)


@task
def aime2026(data: str, preset: str = "paper") -> Task:
    """AIME 2026 over the user's file."""
    return _opened("aime2026", data, preset)


@task
def gpqa(data: str, preset: str = "paper") -> Task:
    """GPQA-Diamond over the user's file."""
    return _opened("gpqa", data, preset)
