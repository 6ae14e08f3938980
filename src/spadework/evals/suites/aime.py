r"""AIME 2025 and 2026: 30 problems whose answers are integers from 0 to 999; the last ``\boxed`` of a reply counts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from spadework.envs.actions import last_box
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
    sampling_settings,
    versions,
)
from spadework.policies.base import SamplingParams
from spadework.text import clean_json, decode

ASK = "Reason step by step, then give the final answer, a whole number, in \\boxed{}."
PROBLEMS = 30
"""Number of problems of one year, which has two papers."""

INFO = SuiteInfo(
    summary="AIME of one year: the mean over tries, whole numbers from 0 to 999",
    presets={"paper": Preset(SamplingParams(32_768, temperature=0.7, top_p=0.8, top_k=20), trials=32)},
    data_help="""\
A JSONL file with a problem a line: {"problem": "...", "answer": 204, "id": "2025-I-1"}. `question` does for `problem`,
and `problem_idx` for `id`, which may be missing. The problems are under the copyright of the Mathematical Association
of America, so none are shipped: take them from its site, or from one of the data sets of that year on the model hubs
(`aime_2025`, `aime_2026`) and export it as JSONL. A year has two papers of 15 problems.""",
    needs_data=True,
)


def make(name: str, options: SuiteOptions) -> Benchmark:
    """Open the suite with the user's file."""
    assert options.data is not None
    preset = chosen_preset(INFO, options)
    setting = Setting(
        name, options.preset, sampling_settings(preset), versions("math-verify"), data=data_fingerprint(options.data)
    )
    judges = ConfinedGrader("spadework.envs.judges")
    grade, questions = partial(_grade, judges), load(options.data)
    return QuestionSuite(setting, preset.sampling, preset.trials, questions, _pose, grade, judges.close)


def check_data(path: Path) -> str:
    """Describe the contents of a user's file. Raises ``ConfigError`` where it cannot be used."""
    found = len(load(path))
    more = "" if found == PROBLEMS else f"; a whole year has {PROBLEMS}"
    return f"{path}: {found} problems{more}"


def load(path: Path) -> list[Question]:
    """The problems of a file. Raises ``ConfigError`` that names the line."""
    questions: dict[str, Question] = {}
    for number, row in jsonl(path):
        where = f"{path}, line {number}"
        problem, answer = row.get("problem") or row.get("question"), str(row.get("answer", "")).strip()
        if not isinstance(problem, str) or not answer.isdigit() or int(answer) > 999:
            raise ConfigError(
                f"{where}: the line needs a text `problem` and an integer `answer` from 0 to 999; it has {sorted(row)}"
            )
        name = str(row.get("id", row.get("problem_idx", number)))
        if name in questions:
            raise ConfigError(f"{where}: an earlier line has the id {name!r} already")
        questions[name] = Question(name, data=(problem.strip(), str(int(answer))))
    return list(questions.values())


def jsonl(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers. Raises ``ConfigError``."""
    try:
        lines = decode(path.read_bytes()).split("\n")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = clean_json(json.loads(line))
        except ValueError as error:
            raise ConfigError(f"{path}, line {number}: not valid JSON: {error}") from None
        if not isinstance(row, dict):
            raise ConfigError(f"{path}, line {number}: the line must be a JSON object, not a {type(row).__name__}")
        rows.append((number, row))
    if not rows:
        raise ConfigError(f"{path}: the file is empty")
    return rows


async def _pose(question: Question, trial: int) -> str:
    return f"{question.data[0]}\n\n{ASK}"


async def _grade(judges: ConfinedGrader, question: Question, trial: int, reply: str) -> Grade:
    """Grade the last box. A plain integer is compared here; anything else goes to a process that can be killed."""
    given, answer = last_box(reply) or "", question.data[1]
    if not given or (given.isascii() and given.isdigit()):
        return Grade(float(given.lstrip("0") == answer.lstrip("0") and bool(given)), given)
    await judges.prepare("math")
    return Grade(float(await judges.judge("math", given, answer=answer)), given)
