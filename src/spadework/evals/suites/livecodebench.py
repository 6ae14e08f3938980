"""LiveCodeBench v6: programs are run on hidden tests in the sandbox, and their outputs are compared here.

A program never sees an expected output. It runs under the limits of every sandbox program: no files, no network, no
subprocesses, 6 CPU seconds per test, 1 GiB of memory.
"""

from __future__ import annotations

import base64
import json
import pickle
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from spadework.envs.actions import strip_thinking
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.errors import ConfigError, ProgramError
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
from spadework.evals.suites.aime import jsonl
from spadework.policies.base import SamplingParams

MOST_OUTPUT = 2_000_000
"""The most characters that one test may print."""
LIMITS = Limits(
    cpu_seconds=6.0, load_seconds=10.0, wall_seconds=60.0, memory_mb=1_024, max_observation=MOST_OUTPUT, max_turns=10**6
)
PROBLEMS = 175
ASK = "Write a correct Python program. Give all of it in one ```python block."
TEXT = "Read the input from standard input and print the answer to standard output."
CALL = "Begin with this, and complete it:\n```python\n{}\n```"

INFO = SuiteInfo(
    summary="LiveCodeBench v6: 175 problems, Pass@1",
    presets={"paper": Preset(SamplingParams(16_384, temperature=0.7, top_p=0.8, top_k=20))},
    data_help="""\
The file test6.jsonl of the data set livecodebench/code_generation_lite (175 problems, 134 MB), from the model hub: its
problems belong to the contest sites, so it is not shipped. A line is an object with `question_id`, `question_content`,
`starter_code`, `public_test_cases` and `private_test_cases` (JSON text, or that text pickled, compressed with zlib and
written in base64, as distributed) and `metadata` (JSON text with `func_name` where a function is asked for). The pickle
is read by a reader that takes a text and nothing else.""",
    needs_data=True,
)
_BLOCK = re.compile(r"```[ \t]*(?:python3?|py)?[ \t]*\n(.*?)(?:\n[ \t]*)?```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CodingProblem:
    """One problem. ``entry`` names the method that tests call; it is empty where tests use standard input."""

    text: str
    starter: str
    entry: str
    tests: tuple[tuple[str, str], ...]


def make(name: str, options: SuiteOptions) -> Benchmark:
    """Open the suite with the user's file."""
    assert options.data is not None
    if options.sandbox is None:
        raise ConfigError(f"{name}: the suite needs a sandbox to run programs in")
    preset = chosen_preset(INFO, options)
    setting = Setting(
        name,
        options.preset,
        sampling_settings(preset),
        versions(),
        data=data_fingerprint(options.data),
        notes=("graded in this package's sandbox: standard library and numpy, no threads, virtual time",),
    )
    grader = _Grader(options.sandbox)
    return QuestionSuite(setting, preset.sampling, preset.trials, load(options.data), _pose, grader.grade)


def texts(options: SuiteOptions) -> Iterator[tuple[str, str]]:
    """Each problem's statement as (id, text), for the contamination check."""
    if options.data is not None:
        yield from ((question.id, question.data.text) for question in load(options.data))


def check_data(path: Path) -> str:
    """Describe the contents of a user's file. Raises ``ConfigError`` where it cannot be used."""
    questions = load(path)
    tests = sum(len(question.data.tests) for question in questions)
    more = "" if len(questions) == PROBLEMS else f"; v6 has {PROBLEMS}"
    return f"{path}: {len(questions)} problems with {tests} tests{more}"


def load(path: Path) -> list[Question]:
    """The problems of a file. Raises ``ConfigError`` that names the line."""
    questions: dict[str, Question] = {}
    for number, row in jsonl(path):
        try:
            metadata = json.loads(row.get("metadata") or "{}")
            tests = [*_tests(row["public_test_cases"]), *_tests(row["private_test_cases"])]
            problem = CodingProblem(
                str(row["question_content"]),
                str(row["starter_code"]),
                str(metadata.get("func_name") or ""),
                tuple((str(test["input"]), str(test["output"])) for test in tests),
            )
            if not problem.tests:
                raise ValueError("it has no tests")
            name = str(row["question_id"])
            if name in questions:
                raise ValueError(f"question_id {name} stands on an earlier line already")
            questions[name] = Question(name, str(row.get("difficulty", "")), problem)
        except (KeyError, ValueError, TypeError, zlib.error, pickle.UnpicklingError) as error:
            raise ConfigError(f"{path}, line {number}: no problem of LiveCodeBench: {error!r}") from None
    return list(questions.values())


def read_program(reply: str) -> str:
    """The last fenced block of a reply; empty where there is none."""
    blocks = _BLOCK.findall(strip_thinking(reply))
    return str(blocks[-1]) if blocks else ""


class _TextOnly(pickle.Unpickler):
    """Unpickles a text and nothing else. A pickle that refers to a class or function is refused, so no code can run."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"the pickled tests refer to {module}.{name}; only a text is taken")


def _tests(cell: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(cell)
    except ValueError:
        found = json.loads(_TextOnly(BytesIO(zlib.decompress(base64.b64decode(cell)))).load())
    return list(found)


async def _pose(question: Question, trial: int) -> str:
    problem: CodingProblem = question.data
    form = CALL.format(problem.starter) if problem.starter else TEXT
    return f"{problem.text}\n\n{ASK} {form}"


class _Grader:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def grade(self, question: Question, trial: int, reply: str) -> Grade:
        """Score 1 when every test passes; stop at the first that fails. Raises ``SandboxError``."""
        problem: CodingProblem = question.data
        program = read_program(reply)
        if not program:
            return Grade(0.0, "", {"why": "no fenced program"})
        passed = 0
        try:
            session = await self._sandbox.open(harness(program, problem.entry), LIMITS)
            try:
                await session.reset(0)
                for given, expected in problem.tests:
                    step = await session.step(_arguments(given) if problem.entry else given)
                    if not (_same_value if problem.entry else same_output)(step.observation, expected):
                        return _graded(program, passed, problem, "wrong output")
                    passed += 1
            finally:
                await session.close()
        except ProgramError as error:
            return _graded(program, passed, problem, f"{error.fault.code} {error.fault.message}"[:300])
        return Grade(1.0, program, {"passed": passed, "tests": len(problem.tests)})


def _graded(program: str, passed: int, problem: CodingProblem, why: str) -> Grade:
    return Grade(0.0, program, {"passed": passed, "tests": len(problem.tests), "why": why})


def harness(program: str, entry: str) -> str:
    """A sandbox program whose ``step`` runs the candidate on one input and returns what it printed or returned."""
    head = f"CANDIDATE = {program!r}\nENTRY = {entry!r}\nLIMIT = {MOST_OUTPUT}\n"
    return head + (Path(__file__).parents[1] / "data" / "livecodebench_program.py").read_text("utf-8")


def _arguments(given: str) -> str:
    """Parse a test input, one JSON value per line, into a JSON list of call arguments."""
    return "[" + ",".join(line for line in given.splitlines() if line.strip()) + "]"


def _same_value(found: str, expected: str) -> bool:
    try:
        return bool(json.loads(found) == json.loads(expected))
    except (ValueError, RecursionError):  # invalid JSON, or JSON that is nested too deeply
        return found.strip() == expected.strip()


def same_output(found: str, expected: str) -> bool:
    """Whether two outputs agree: equal lines up to trailing blanks, or equal decimal numbers line by line."""
    one, two = ([line.strip() for line in text.strip().splitlines()] for text in (found, expected))
    return len(one) == len(two) and all(a == b or _same_numbers(a, b) for a, b in zip(one, two, strict=True))


def _same_numbers(one: str, two: str) -> bool:
    try:
        return [Decimal(word) for word in one.split()] == [Decimal(word) for word in two.split()]
    except InvalidOperation:
        return False
