"""A suite runs item by item: killed halfway it goes on to the same result, and a fault is a failure that is shown."""

import dataclasses
import json
from pathlib import Path

import pytest

from spadework.errors import ConfigError, PolicyError, RunError
from spadework.evals.questions import Grade, Question, QuestionSuite
from spadework.evals.records import Item, Setting, read_result
from spadework.evals.runner import Choice, Where, _is_ours, run_benchmark
from spadework.policies.base import SamplingParams
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Fault

SUBJECT = {"model": "scripted"}


class Killed(BaseException):
    pass


def suite(questions: int = 12, trials: int = 2, preset: str = "paper") -> QuestionSuite:
    async def pose(question: Question, trial: int) -> str:
        return f"{question.id}+{trial}="

    async def grade(question: Question, trial: int, reply: str) -> Grade:
        return Grade(float(reply == str(int(question.id) + trial)), reply)

    asked = [Question(str(number), "odd" if number % 2 else "even") for number in range(questions)]
    return QuestionSuite(Setting("sums", preset, {}), SamplingParams(64), trials, asked, pose, grade)


def adder(wrong: str = "", killed_after: int = 0, refuses: str = "") -> ScriptedPolicy:
    """Adds, at random one too many for questions of the group that begins with ``wrong``."""
    asked = 0

    def script(messages, rng, version) -> str:  # type: ignore[no-untyped-def]
        nonlocal asked
        asked += 1
        if killed_after and asked >= killed_after:
            raise Killed
        one, two = messages[-1]["content"].rstrip("=").split("+")
        if one in refuses.split():
            raise PolicyError("HTTP_500", "the server is out of order")
        return str(int(one) + int(two) + (rng.random() < 0.5 if one.startswith(wrong) and wrong else 0))

    return ScriptedPolicy(script)


async def test_eval_goes_on_after_a_kill_to_the_same_result(tmp_path: Path) -> None:
    whole = await run_benchmark(suite(), adder(wrong="1"), SUBJECT, Where(tmp_path / "whole"))
    with pytest.raises(Killed):
        await run_benchmark(suite(), adder(wrong="1", killed_after=9), SUBJECT, Where(tmp_path / "cut", jobs=2))
    lines = (tmp_path / "cut" / "sums.items.jsonl").read_text()
    assert 3 <= lines.count("\n") <= 9
    (tmp_path / "cut" / "sums.items.jsonl").write_text(lines + '{"id": "7#1", "gr')  # torn by the kill
    going_on = adder(wrong="1")
    again = await run_benchmark(suite(), going_on, SUBJECT, Where(tmp_path / "cut"))
    assert [(one.id, one.score, one.answer) for one in again.items] == [(o.id, o.score, o.answer) for o in whole.items]
    assert 0 < again.score().mean < 1
    assert again.score() == whole.score()
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["sums.json"]
    assert read_result(tmp_path / "cut" / "sums.json") == again


async def test_eval_faults_are_failures_in_the_denominator(tmp_path: Path) -> None:
    result = await run_benchmark(suite(), adder(refuses="3 4"), SUBJECT, Where(tmp_path, max_fault_share=0.2))
    assert (result.n, result.errors, result.score().mean) == (24, 4, 20 / 24)
    assert {item.fault.code for item in result.items if item.fault} == {"HTTP_500"}
    written = json.loads((tmp_path / "sums.json").read_text())
    assert (written["n"], written["errors"]) == (24, 4)
    kept = await run_benchmark(suite(), adder(), SUBJECT, Where(tmp_path))
    assert kept.errors == 4, "a whole result stays as it is"
    mended = await run_benchmark(suite(), adder(), SUBJECT, Where(tmp_path, retry=True))
    assert (mended.errors, mended.score().mean) == (0, 1.0)


@pytest.mark.parametrize("questions", [1, 2, 12])
async def test_eval_gives_no_score_when_the_first_items_all_fail(tmp_path: Path, questions: int) -> None:
    every, asked = " ".join(map(str, range(12))), suite(questions, trials=1)
    with pytest.raises(RunError, match=r"no score: \d x endpoint HTTP_500 the server is out of order"):
        await run_benchmark(asked, adder(refuses=every), SUBJECT, Where(tmp_path, jobs=1))
    assert [path.name for path in tmp_path.iterdir()] == ["sums.items.jsonl"]
    with pytest.raises(RunError, match="no score"):  # and not from what lies there
        await run_benchmark(asked, adder(refuses=every), SUBJECT, Where(tmp_path, jobs=1))
    result = await run_benchmark(asked, adder(), SUBJECT, Where(tmp_path))
    assert (result.errors, result.score().mean) == (0, 1.0)


async def test_eval_gives_no_score_when_more_than_the_allowed_share_fails(tmp_path: Path) -> None:
    refusing = {"refuses": "3 4"}  # 4 of 24 items
    with pytest.raises(RunError, match=r"3 of 24 items failed by the machinery, more than eval.max_fault_share = 0.1"):
        await run_benchmark(suite(), adder(**refusing), SUBJECT, Where(tmp_path / "more", jobs=1))
    result = await run_benchmark(suite(), adder(**refusing), SUBJECT, Where(tmp_path / "set", max_fault_share=0.17))
    assert (result.errors, result.n) == (4, 24)
    one = await run_benchmark(suite(3, 1), adder(refuses="2"), SUBJECT, Where(tmp_path / "one", max_fault_share=0.0))
    assert (one.errors, one.n, one.score().mean) == (1, 3, 2 / 3), "a single fault is a failure in the denominator"


@pytest.mark.parametrize(
    ("fault", "ours"),
    [
        (Fault("endpoint", "CONNECTION", ""), True),
        (Fault("endpoint", "TOO_LONG", ""), False),
        (Fault("model", "ENGINE", ""), True),
        (Fault("sandbox", "DIED", ""), True),
        (Fault("late", "LATE", ""), True),
        (Fault("grader", "raised", ""), True),
        (Fault("grader", "HANG", ""), False),
        (Fault("program", "ENV205", ""), False),
    ],
)
def test_what_the_model_brought_about_is_its_own(fault: Fault, ours: bool) -> None:
    assert _is_ours(fault) == ours


async def test_eval_refuses_to_mix_settings(tmp_path: Path) -> None:
    await run_benchmark(suite(), adder(), SUBJECT, Where(tmp_path))
    with pytest.raises(ConfigError, match="preset 'paper' \\(now 'other'\\)"):
        await run_benchmark(suite(preset="other"), adder(), SUBJECT, Where(tmp_path))
    with pytest.raises(ConfigError, match="subject"):
        await run_benchmark(suite(), adder(), {"model": "another"}, Where(tmp_path))


def test_eval_choice_keeps_all_tries_of_a_problem() -> None:
    items = [Item(f"{unit}#{trial}", "ab"[unit % 2], str(unit)) for unit in range(6) for trial in range(2)]
    chosen = Choice(limit=1).of(items)
    assert [(place, item.id) for place, item in chosen] == [(0, "0#0"), (1, "0#1"), (2, "1#0"), (3, "1#1")]
    assert [item.unit for _, item in Choice(only=("b",)).of(items)] == ["1", "1", "3", "3", "5", "5"]
    with pytest.raises(ConfigError, match="the groups are: a, b"):
        Choice(only=("c",)).of(items)


async def test_eval_what_a_scorer_stumbles_over_is_one_items_fault_with_its_traceback(tmp_path: Path) -> None:
    async def grade(question: Question, trial: int, reply: str) -> Grade:
        return Grade({"1": 1.0}.get(question.id, 0.0) if question.id != "3" else {}["no such answer"])

    stumbling = dataclasses.replace(suite(trials=1), grade=grade)
    result = await run_benchmark(stumbling, adder(), SUBJECT, Where(tmp_path / "one"))
    (bad,) = [item for item in result.items if item.fault]
    assert (result.n, result.errors, bad.id, bad.score, bad.fault.code) == (12, 1, "3", 0.0, "raised")
    assert "KeyError" in bad.fault.message and "in grade" in bad.fault.detail

    async def always(question: Question, trial: int, reply: str) -> Grade:
        raise LookupError("of every item")

    with pytest.raises(RunError, match="there is no score: 3 x grader raised LookupError"):
        await run_benchmark(dataclasses.replace(suite(), grade=always), adder(), SUBJECT, Where(tmp_path / "all"))
