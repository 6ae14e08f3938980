"""The last balanced box, and nothing else, is an action (faults.md, 6)."""

import pytest

from spadework.envs.actions import last_box


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (r"\boxed{4}", "4"),
        (r"first \boxed{3}, no: \boxed{ 4 }", "4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{a{b}c} and \boxed{unclosed", "a{b}c"),
        (r"\boxed {4}", "4"),
        (r"\boxed{}", None),
        (r"\boxed{3} then \boxed{}", None),
        ("the answer is 4", None),
        (r"\boxed{4", None),
        ("", None),
        (r"<think>\boxed{1}</think> \boxed{2}", "2"),
        (r"<think>\boxed{1}", None),
        (r"thought \boxed{1}</think>\boxed{2}", "2"),
    ],
)
def test_last_box(reply, action):
    assert last_box(reply) == action
