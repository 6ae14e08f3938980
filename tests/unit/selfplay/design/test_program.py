"""The one parser of designer replies."""

import pytest

from spadework.selfplay.design.program import extract_program

PROGRAM = "class AEnv:\n    x = 1\n"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"text\n```python\n{PROGRAM}```\nmore", (PROGRAM, False)),
        (f"```\n{PROGRAM}```", (PROGRAM, False)),
        (f"```python\nold = 1\n```\nand now\n```python\n{PROGRAM}```", (PROGRAM, False)),
        (f"```python\n{PROGRAM}", (PROGRAM, False)),
        (f"<think>```python\nno\n```</think>```python\n{PROGRAM}```", (PROGRAM, False)),
        ("no program", ("", False)),
        ("", ("", False)),
        ("```python\nclass AEnv:\n```\n    x = 1\n```\n", (PROGRAM, True)),
    ],
)
def test_the_last_python_block(reply, expected):
    assert extract_program(reply) == expected
