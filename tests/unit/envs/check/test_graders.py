from __future__ import annotations

import pytest

from spadework.envs.check.answers.graders import equivalents, near_misses
from spadework.envs.check.answers.leaks import marked, mentions, prints_formula


@pytest.mark.parametrize(
    ("answer", "variants"),
    [
        ("42", {"42.0", "  42 ", "42."}),
        ("12345", {"12,345", "12345.0"}),
        ("-7", {"-7.0"}),
        ("0.5", {"1/2", "0.50"}),
        ("1,2", {"1, 2"}),
        ("a, b", {"a,b"}),
        ("yes", {"YES", "\\text{yes}"}),
    ],
)
def test_variants_that_mean_the_same(answer, variants):
    found = set(equivalents(answer).values())
    assert variants <= found
    assert answer not in found


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("42", {"43", "41", "4", "427", "-42"}),
        ("0", {"1", "-1", "07"}),
        ("2.5", {"3.5", "-2.5"}),
        ("3, 1, 2", {"3, 1", "2"}),
        ("planet", {"plane", "tenalp"}),
    ],
)
def test_near_misses(answer, wrong):
    found = set(near_misses(answer).values())
    assert wrong <= found
    assert answer not in found


def test_variants_and_near_misses_never_meet():
    for answer in ("42", "-7", "0.5", "1,2", "planet", "x", "north east", "\\frac{1}{2}", "10:30"):
        assert not set(equivalents(answer).values()) & set(near_misses(answer).values())


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("The answer is 42.", "42", True),
        ("Answer: 42", "42", True),
        ("(solution = **42**)", "42", True),
        ("the secret word is 'moon'", "moon", True),
        ("The answer is 425.", "42", False),
        ("The answer is 42.5", "42", False),
        ("Answer with a number. There are 42 apples.", "42", False),
        ("Write the result as 3/4: what is 42 halved?", "42", False),
    ],
)
def test_marked_answers(text, answer, found):
    assert marked(text, answer) is found


def test_mentions_whole_words_and_numbers_only():
    assert mentions("take 12 of them", "12")
    assert not mentions("take 128 of them, or 3.12", "12")
    assert mentions("Say Moon", "moon")
    assert not mentions("Say Moon", "moon", exact=True)
    assert not mentions("anything", " ")


def test_formulas():
    assert prints_formula("Use force = mass * acceleration to find it.")
    assert not prints_formula("What is 3 + 4 = ?")
    assert not prints_formula("Set x = 3 and y = 4.")
