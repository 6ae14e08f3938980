"""The one parser of designer replies."""

from __future__ import annotations

import time

import pytest

from spadework.selfplay.design.program import extract_program

PROGRAM = "class AEnv:\n    x = 1\n"
WHOLE = '''import random

class AEnv:
    """A game.

    ```
    reset, then step
    ```
    A player may write <think> or </think>.
    """

    def reset(self, seed=None):
        return "It's your turn.", {}

    def step(self, action):
        return "done", 1.0, True, False, {}
'''
USAGE = "```python\nenv = AEnv()\nprint(env.reset())\n```\n"
INDENTED = "".join(f"    {line}\n" if line else "\n" for line in WHOLE.split("\n")[:-1])
TOOLS = "class ShopEnv(ToolUseBaseEnv):\n    def reset(self, seed=None):\n        return 'Buy.', {}\n"


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
        ('```json\n{"class": 1}\n```', ("", False)),
    ],
)
def test_the_last_python_block(reply: str, expected: tuple[str, bool]) -> None:
    assert extract_program(reply) == expected


@pytest.mark.parametrize(
    "reply",
    [
        *(
            f"Here:\n```{name}\n{WHOLE}```\n"
            for name in ("", "python", "python3", "Python", " py", "python title=x.py")
        ),
        f"~~~python\n{WHOLE}~~~",
        f"````\n{WHOLE}````",
        f"````markdown\n```python\n{WHOLE}```\n````",
        f"1. The program:\n\n    ```python\n{INDENTED}    ```\n",
        f"```python\n{WHOLE}```".replace("\n", "\r\n"),
        f"\ufeff```python\n{WHOLE}",
        WHOLE,
        f"Sure, this is the program.\n\n{WHOLE}",
        f"{WHOLE}\nThis game is about turns.",
        f"\ufeff{WHOLE}",
        f"```python\n{WHOLE}```\nUse it so:\n{USAGE}",
        f"```python\n{WHOLE}```\n```json\n{{}}\n```\n```bash\npython game.py\n```",
        f"A stray fence\n```\nthen prose, it's fine\n```python\n{WHOLE}```",
        f"```python\nclass OldEnv:\n    def reset(self): pass\n    def step(self, a): pass\n```\nBetter:\n```python\n{WHOLE}```",
        f"<think>A draft:\n```python\nclass OldEnv:\n    def reset(self): pass\n</think>\n```python\n{WHOLE}```",
        f"A draft:\n```python\nclass OldEnv:\n    def reset(self): pass\n</think>\n```python\n{WHOLE}```",
        f"I do not need to <think> long.\n```python\n{WHOLE}```",
    ],
)
def test_a_good_program_is_found_however_it_is_wrapped(reply: str) -> None:
    source, mended = extract_program(reply)
    assert (source, mended) == (WHOLE, False)


def test_a_program_on_a_provided_base_needs_no_step() -> None:
    assert extract_program(f"```\n{TOOLS}```\n{USAGE}") == (TOOLS, False)


def test_what_goes_on_behind_a_fence_is_mended() -> None:
    method = "    def solution(self):\n        return '1'\n"
    assert extract_program(f"```python\n{WHOLE}```\n{method}```") == (WHOLE + method, True)


def test_thinking_that_never_ends_holds_no_program() -> None:
    assert extract_program(f"<think>```python\n{WHOLE}```") == ("", False)


def test_a_broken_program_is_named_rather_than_its_draft_or_its_usage() -> None:
    broken = "class AEnv:\n    def reset(self:\n        pass\n"
    reply = f"The draft:\n```python\n{WHOLE}```\n</think>\n```python\n{broken}```\n{USAGE}"
    assert extract_program(reply) == (broken, False)


@pytest.mark.parametrize(
    "unit",
    [
        "```python\n",
        "```\nclass A:\n```\n    x\n",
        "class A:\n    x = (\n",
        "'''\n```\nclass A:\n",
        "</think>```\nclass A: pass\n",
        "import x\n",
        "{a}",
    ],
)
def test_no_reply_is_slow_to_take_apart(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    started = time.thread_time()
    extract_program(text)
    extract_program(f"```python\nclass AEnv:\n    def reset(self):\n        return f'{text}'\n```")
    assert time.thread_time() - started < 3
