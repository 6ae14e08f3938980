"""Graders of prompts, and the file that they come in."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from spadework.envs.judges import JUDGES
from spadework.envs.mathematics import same_value
from spadework.errors import ConfigError, GraderError
from spadework.ranking.answers import GRADERS, QUICK, Grader, Prompt, load_prompts


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def grader() -> AsyncIterator[Grader]:
    grader = Grader()
    yield grader
    await grader.aclose()


module_loop = pytest.mark.asyncio(loop_scope="module")


def quick(prompt: Prompt, reply: str) -> float:
    return asyncio.run(Grader().grade(prompt, reply))


@pytest.mark.parametrize(
    ("name", "answer", "given", "right"),
    [
        ("exact", "a b", " a  b ", True),
        ("exact", "a b", "ab", False),
        ("exact", "Paris", "paris", False),
        ("numeric", "1000", "1,000", True),
        ("numeric", "0.75", "3/4", True),
        ("numeric", "0.75", "75 %", True),
        ("numeric", "0.75", r"75\%", True),
        ("numeric", "1e3", "1000.0", True),
        ("numeric", "5", "5.1", False),
        ("numeric", "5", "five", False),
        ("numeric", "5", "1/0", False),
        ("numeric", "5", "nan", False),
        ("regex", r"(?i)yes|yep", "YES", True),
        ("regex", r"yes", "yes, no", False),
        ("math", r"\frac{1}{2}", "0.5", True),
        ("math", "x^2+2x+1", "(x+1)^2", True),
        ("math", "2", r"\frac{1}{", False),
        ("math", "2", "3", False),
    ],
)
@module_loop
async def test_graders(name: str, answer: str, given: str, right: bool, grader: Grader) -> None:
    assert await grader.grade(Prompt("i", "p", "h", answer, name), f"so \\boxed{{{given}}}") == float(right)


@module_loop
async def test_the_confined_judge_of_mathematics_says_what_it_says_unconfined(grader: Grader) -> None:
    pairs = [
        ("(x+1)^2", "x^2+2x+1"), (r"\sqrt{2}", "2^{1/2}"), (r"\{1,2\}", r"\{2,1\}"), (r"|x|", r"|-x|"), ("5!", "120"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"), ("x<3", "3>x"),
        (r"\tan x", r"\sin x/\cos x"), (r"\int x^2 dx", "x^3/3"), (r"\lim_{x\to 0} \frac{\sin x}{x}", "1"),
        (r"e^{2}", "e^2"), (r"\log_2 8", "3"), (r"\binom{5}{2}", "10"), ("3+4i", "4i+3"), ("50\\%", "0.5"), ("2", "3"),
    ]  # fmt: skip
    for said, answer in pairs:
        confined = await grader.grade(Prompt("i", "p", "h", answer, "math"), f"\\boxed{{{said}}}")
        assert confined == float(same_value(said, answer)), said


@pytest.mark.parametrize(
    ("name", "answer", "given"),
    [("regex", "(a+)+$", "a" * 40 + "!"), ("math", "2", "9^{9^{9^{9^{9}}}}"), ("numeric", "2", "1e999999999")],
)
@module_loop
async def test_no_answer_hangs_a_grader_or_the_loop(name: str, answer: str, given: str, grader: Grader) -> None:
    await grader.grade(Prompt("i", "p", "h", answer, name), r"\boxed{0}")  # whatever has to be loaded first
    began, slowest = time.monotonic(), 0.0

    async def beat() -> None:
        nonlocal slowest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            slowest = max(slowest, time.monotonic() - before)

    beating = asyncio.create_task(beat())
    try:
        assert await grader.grade(Prompt("i", "p", "h", answer, name), f"\\boxed{{{given}}}") == 0.0
    except GraderError as error:
        assert error.fault.kind == "grader" and error.fault.code in ("HANG", "DIED")
    beating.cancel()
    assert slowest < 1.5, "the event loop goes on"
    assert time.monotonic() - began < 60


def test_only_the_last_box_counts():
    prompt = Prompt("i", "p", "h", "4", "numeric")
    assert quick(prompt, r"\boxed{3}, no: \boxed{4}") == 1.0
    assert quick(prompt, r"\boxed{4}, no: \boxed{3}") == 0.0
    assert quick(prompt, "4") == 0.0
    assert quick(prompt, r"<think>\boxed{4}</think> I do not know") == 0.0


@given(st.text(max_size=40), st.sampled_from(["exact", "numeric", "regex"]))
def test_graders_are_total(text, grader):
    assert {**QUICK, **JUDGES}[grader](text, "7") in (True, False)


def line(**changes):
    return json.dumps({"id": "a", "prompt": "p", "hint": "h", "answer": "1", "grader": "exact", **changes})


def test_prompts_are_read(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(f"{line()}\n\n{line(id='b', answer=2, grader='numeric')}\n")
    assert [prompt.answer for prompt in load_prompts(path)] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: not valid JSON"),
        ("[]", "line 1: an object with the texts id"),
        (line(hint=None), "an object with"),
        (line(more="x"), "an object with"),
        (line(grader="guess"), f"no grader 'guess'; there are {', '.join(GRADERS)}"),
        (line(grader="regex", answer="("), "no regular expression"),
        (line(grader="numeric", answer="x"), "'x' is no number"),
        (f"{line()}\n{line()}", "line 2: the id 'a' stands"),
        ("", "holds no prompt"),
    ],
)
def test_mistakes_name_their_line(tmp_path, text, said):
    path = tmp_path / "p.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_prompts(path)
    assert said in str(caught.value)
