"""Reasoning-Gym's hard tasks in four categories, with eight fixed problems per task; only a full score is a win."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from spadework.envs.actions import last_box, strip_thinking
from spadework.envs.sandbox.confined import ConfinedGrader
from spadework.errors import ConfigError
from spadework.evals.benchmark import Benchmark
from spadework.evals.questions import Grade, Question, QuestionSuite
from spadework.evals.records import Setting
from spadework.evals.registry import (
    Preset,
    SuiteInfo,
    SuiteOptions,
    chosen_preset,
    data_fingerprint,
    needs,
    sampling_settings,
    versions,
)
from spadework.policies.base import SamplingParams
from spadework.types import WIN

EPISODES = (432, 68, 489, 121, 120, 318, 406, 165)
"""The indices of the problems that are asked from each data set."""
ASK = "Think step by step, then give the final answer between <answer> and </answer>."
_TAG = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)

INFO = SuiteInfo(
    summary="100 hard Reasoning-Gym tasks: math 31, algorithmic 36, cognition 24, logic 9",
    presets={"paper": Preset(SamplingParams(8_192, temperature=0.6, top_p=0.8, top_k=20))},
    data_help="""\
Nothing is needed: the package reasoning-gym makes the problems, and the 100 tasks with their parameters are shipped.
Other tasks may be given as a JSON file: {"TASK": {"category": "math", "config": {"max_digits": 6}}, ...}.""",
)


def make(name: str, options: SuiteOptions) -> Benchmark:
    """Open the suite with the shipped tasks, or with those of the user's file."""
    needs("reasoning_gym", "pip install 'spadework[eval]'")
    preset = chosen_preset(INFO, options)
    setting = Setting(
        name,
        options.preset,
        sampling_settings(preset),
        versions("reasoning-gym"),
        data=data_fingerprint(options.data) if options.data else "",
        notes=("the sentence that asks for answer tags is ours",),
    )
    grader = _Grader()
    questions = [
        Question(f"{task}/{index}", row["category"], (task, row["config"], index))
        for task, row in load(options.data or SHIPPED).items()
        for index in EPISODES
    ]
    return QuestionSuite(setting, preset.sampling, preset.trials, questions, grader.pose, grader.grade, grader.close)


SHIPPED = Path(__file__).parents[1] / "data" / "reasoning_gym_hard.json"


def check_data(path: Path) -> str:
    """Describe the contents of a user's file. Raises ``ConfigError`` where it cannot be used."""
    return f"{path}: {len(load(path))} tasks"


def load(path: Path) -> dict[str, dict[str, Any]]:
    """The tasks of a file, with category and parameters, by name. Raises ``ConfigError``."""
    try:
        tasks = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    for task, row in tasks.items() if isinstance(tasks, dict) else [("", None)]:
        if not isinstance(row, dict) or set(row) != {"category", "config"} or not isinstance(row["config"], dict):
            raise ConfigError(f'{path}: {task or "an object"}: wanted {{"category": "...", "config": {{...}}}}')
    found: dict[str, dict[str, Any]] = tasks
    return found


def read_answer(reply: str) -> str | None:
    """The content of the last answer tag, else of the last box; ``None`` where there is neither."""
    tags = _TAG.findall(strip_thinking(reply))
    return tags[-1].strip() if tags else last_box(reply)


class _Grader:
    def __init__(self) -> None:
        self._confined = ConfinedGrader("spadework.evals.suites.reasoning_gym_tasks")

    async def problem(self, question: Question) -> dict[str, Any]:
        """The generated problem: its question and stored answer."""
        task, config, index = question.data
        problem: dict[str, Any] = await self._confined.prepare(task, config=config, index=index)
        return problem

    async def pose(self, question: Question, trial: int) -> str:
        """The package's question with instructions for the answer's form."""
        return f"{(await self.problem(question))['question']}\n\n{ASK}"

    async def grade(self, question: Question, trial: int, reply: str) -> Grade:
        """Score 1 where the package gives the answer its full score, else 0."""
        given = read_answer(reply)
        if given is None:
            return Grade(0.0)
        task, config, index = question.data
        score = await self._confined.judge(task, given, config=config, index=index)
        return Grade(float(score >= WIN), given, {"partial": round(score, 4)})

    async def close(self) -> None:
        """End the worker processes."""
        await self._confined.close()
