"""Graders of prompts, and the file that they come in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadework.errors import ConfigError
from spadework.ranking.answers import GRADERS, Prompt, grade, load_prompts


@pytest.mark.parametrize(
    ("grader", "answer", "given", "right"),
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
def test_graders(grader, answer, given, right):
    assert grade(Prompt("i", "p", "h", answer, grader), f"so \\boxed{{{given}}}") == float(right)


def test_only_the_last_box_counts():
    prompt = Prompt("i", "p", "h", "4", "numeric")
    assert grade(prompt, r"\boxed{3}, no: \boxed{4}") == 1.0
    assert grade(prompt, r"\boxed{4}, no: \boxed{3}") == 0.0
    assert grade(prompt, "4") == 0.0
    assert grade(prompt, r"<think>\boxed{4}</think> I do not know") == 0.0


@given(st.text(max_size=40), st.sampled_from(["exact", "numeric", "regex"]))
def test_graders_are_total(text, grader):
    assert grade(Prompt("i", "p", "h", "7", grader), f"\\boxed{{{text}}}") in (0.0, 1.0)


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
