"""GPQA-Diamond: four choices, shuffled at each pass, and a parser that accepts many ways to write the letter."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path

from spadework.envs.actions import last_box, strip_thinking
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
from spadework.types import derive_seed

LETTERS = "ABCD"
ASK = "Reason step by step, then end with a line of the form `Answer: X`, where X is one of A, B, C and D."
CHOICES = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
ROWS = 198

INFO = SuiteInfo(
    summary="GPQA-Diamond: 198 questions of science with four choices",
    presets={"paper": Preset(SamplingParams(16_384, temperature=0.7, top_p=0.8, top_k=20), trials=2)},
    data_help="""\
The file gpqa_diamond.csv as its authors distribute it (198 rows; columns `Question`, `Correct Answer`, `Incorrect
Answer 1` to `3`, and, if there, `Record ID` and `High-level domain`). They ask that its questions not be posted in
plain text, so it is not shipped: get it from their repository (idavidrein/gpqa) or from the model hub, where one has
to agree to that first.""",
    needs_data=True,
)

_WRAP = r"[\[\s*_`$\\{]*(?:text|mathrm|mathbf|boxed)?[\[\s*_`{]*"
_SAID = re.compile(
    rf"(?i:answer|choice|option)[\s*_`]*(?i:is|:|=)?[\s*_`:]*{_WRAP}(?:\(\s*([A-Da-d])\s*\)|\(?([A-D])(?![A-Za-z]))"
)
"""A lower-case letter counts only in brackets, or "the answer is a matter of taste" would mean A."""
_ALONE = re.compile(r"[\s(\[*_`$]*([A-D])[\s)\].*_`$]*(?:[).:].*)?", re.IGNORECASE)


def make(name: str, options: SuiteOptions) -> Benchmark:
    """Open the suite with the user's file."""
    assert options.data is not None
    preset = chosen_preset(INFO, options)
    setting = Setting(name, options.preset, sampling_settings(preset), versions(), data=data_fingerprint(options.data))
    return QuestionSuite(setting, preset.sampling, preset.trials, load(options.data), _pose, _grade)


def check_data(path: Path) -> str:
    """Describe the contents of a user's file. Raises ``ConfigError`` where it cannot be used."""
    found = len(load(path))
    return f"{path}: {found} questions" + ("" if found == ROWS else f"; the Diamond set has {ROWS}")


def load(path: Path) -> list[Question]:
    """The questions of the CSV. Raises ``ConfigError``."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    missing = [name for name in ("Question", *CHOICES) if not rows or name not in rows[0]]
    if missing:
        raise ConfigError(f"{path}: there is no column {missing[0]!r}; see `spadework eval --data-help gpqa`")
    questions: dict[str, Question] = {}
    for number, row in enumerate(rows, 1):
        texts = [str(row[column] or "").strip() for column in ("Question", *CHOICES)]
        if not all(texts):
            raise ConfigError(f"{path}, row {number}: the question or one of its choices is empty")
        name = str(row.get("Record ID") or number)
        if name in questions:
            raise ConfigError(f"{path}, row {number}: the record {name!r} stands on an earlier row already")
        questions[name] = Question(name, str(row.get("High-level domain") or ""), tuple(texts))
    return list(questions.values())


def shuffled(question: Question, trial: int) -> tuple[list[str], str]:
    """The choices in the order of a pass, and the right letter. Question and pass seed the shuffle."""
    order = list(range(4))
    random.Random(derive_seed(0, "gpqa", question.id, trial)).shuffle(order)
    return [question.data[1 + place] for place in order], LETTERS[order.index(0)]


def read_letter(reply: str) -> str:
    """The letter of a reply's answer: in the last box, else the last "answer is X", else a final line of one letter."""
    text = strip_thinking(reply)
    boxed = _ALONE.fullmatch(re.sub(r"\\(?:text|mathrm|mathbf)\s*\{(.*?)\}", r"\1", last_box(text) or ""))
    if boxed:
        return boxed[1].upper()
    said = _SAID.findall(text)
    if said:
        return "".join(said[-1]).upper()
    lines = [line for line in text.splitlines() if line.strip()]
    alone = _ALONE.fullmatch(lines[-1]) if lines else None
    return alone[1].upper() if alone else ""


async def _pose(question: Question, trial: int) -> str:
    choices, _ = shuffled(question, trial)
    listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, choices, strict=True))
    return f"{question.data[0]}\n\n{listed}\n\n{ASK}"


async def _grade(question: Question, trial: int, reply: str) -> Grade:
    given = read_letter(reply)
    return Grade(float(given == shuffled(question, trial)[1]), given)
