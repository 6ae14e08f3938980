"""Shapes and normalisation, without a process: what the child checks before the host checks again."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from spadework.envs.sandbox.forkserver.inside import checks


def code(function: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(checks.Problem) as caught:
        function(*args, **kwargs)
    return str(caught.value.code)


@pytest.mark.parametrize(("value", "number"), [(True, 1.0), (0, 0.0), (-1, -1.0), (0.5, 0.5), (Fraction(1, 4), 0.25)])
def test_rewards_that_pass(value: Any, number: float) -> None:
    assert checks.reward(value, 1.0) == number


@pytest.mark.parametrize("value", [math.nan, math.inf, 1.5, 10**400])
def test_rewards_out_of_range(value: Any) -> None:
    assert code(checks.reward, value, 1.0) == "ENV203"


@pytest.mark.parametrize("value", ["1", None, 1j, [1.0]])
def test_rewards_that_are_no_numbers(value: Any) -> None:
    assert code(checks.reward, value, 1.0) == "ENV202"


def test_step_results() -> None:
    assert checks.five(["a", 0, False, True, {}]) == ("a", 0, False, True, {})
    assert checks.five(("a", 0, True, {"x": 1})) == ("a", 0, True, False, {"x": 1})
    assert code(checks.five, ("a", 0, True)) == "ENV202"
    assert code(checks.five, "abcde") == "ENV202"


def test_observations() -> None:
    assert checks.observation("", 3, may_be_empty=True) == ""
    assert code(checks.observation, "", 3, may_be_empty=False) == "ENV202"
    assert code(checks.observation, "abcd", 3, may_be_empty=True) == "ENV207"
    assert code(checks.observation, 3, 3, may_be_empty=True) == "ENV202"


def test_info() -> None:
    assert checks.info({"s": {2, 1}, "t": (1, 2)}) == '{"s":[1,2],"t":[1,2]}'
    assert (checks.info({}), checks.tools(()), checks.tools([{"n": 1}])) == ("{}", "[]", '[{"n":1}]')
    assert code(checks.info, {"x": object()}) == "ENV202"
    assert code(checks.info, {(1,): 2}) == "ENV202"
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    assert code(checks.info, loop) == "ENV202"
    assert code(checks.info, None) == "ENV202"
    assert code(checks.tools, ["x"]) == "ENV202"
