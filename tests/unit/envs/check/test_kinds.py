"""Kinds of cheating and worthless programs, each refused, and good games of the same looks that pass."""

from __future__ import annotations

import pytest

from spadework.config import RunConfig
from spadework.domains.games import GAMES
from spadework.domains.tool_use import TOOL_USE
from spadework.envs.check.answers.revealed import forms
from spadework.envs.check.findings import fatal
from spadework.envs.check.panel.calling import plainest
from spadework.envs.check.program import check_program
from spadework.envs.check.runtime import RuntimeChecks, check_runtime
from spadework.envs.check.seeds import draw_seeds
from spadework.envs.check.static.source import check_source
from spadework.envs.check.syntax import Program
from spadework.envs.json_schema import check_schema, coerce
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.resources import shipped
from spadework.selfplay.design.validation import Validator
from spadework.text import parse_python

FOLDER = shipped("examples") / "environments"
NEW_KINDS = ("ENV409_tells_nothing", "ENV404_matches_a_pattern", "ENV305_pays_the_first_play")
GUESS = """
import random
class GuessEnv:
    max_turns = 7
    def reset(self, seed=None):
        self.secret = random.Random(seed).randint(100, 199)
        self.turn = 0
        return "I think of a number from 100 to 199.", {}
    def step(self, action):
        self.turn += 1
        said = action.removeprefix("\\\\boxed{").removesuffix("}").strip()
        if said == str(self.secret):
            return "Right.", 1.0, True, False, {}
        lower = said.isdecimal() and len(said) < 9 and int(said) > self.secret
        return ("Lower." if lower else "Higher."), 0.0, False, self.turn >= 7, {}
    def solution(self):
        return str(self.secret)
"""


def test_seeds_are_of_31_bits_and_always_the_same():
    seeds = draw_seeds(24)
    assert seeds == draw_seeds(24)
    assert len(set(seeds)) == 24
    assert max(seeds) > 2**30
    assert max(seeds) < 2**31


def test_forms_of_an_answer():
    assert dict(forms("407")) == {
        "": "407",
        " in digit words": "four zero seven",
        " letter by letter": "4, 0, 7",
        " backwards": "704",
    }
    assert dict(forms("no")) == {"": "no"}


@pytest.mark.parametrize("name", NEW_KINDS)
async def test_the_validator_of_training_refuses_what_check_refuses(name):
    source = (FOLDER / "broken" / f"{name}.py").read_text()
    async with ForkServer() as sandbox:
        verdict = await Validator(sandbox, GAMES, RuntimeChecks())(source)
    assert any(finding.startswith(name.split("_")[0]) for finding in verdict.findings)


def test_a_run_checks_grading_by_default():
    assert RunConfig().validation.grading


@pytest.mark.parametrize("source", [GUESS, (FOLDER / "games" / "code_breaker.py").read_text()], ids=["guess", "code"])
async def test_a_hidden_state_that_feedback_reveals_is_no_fault(source):
    async with ForkServer() as sandbox:
        checked = await check_program(sandbox, source, RuntimeChecks())
    assert fatal(checked.findings) == ()


async def test_a_win_that_depends_on_the_size_of_the_seed_is_found():
    small = (FOLDER / "games" / "division_with_remainder.py").read_text()
    cheat = small.replace(
        "def step(self, action):", "def step(self, action):\n        if self.big: return '', 1.0, True, False, {}"
    )
    cheat = cheat.replace(
        "rng = random.Random(seed)", "rng = random.Random(seed)\n        self.big = (seed or 0) > 10**6"
    )
    assert cheat.count("self.big") == 2
    async with ForkServer() as sandbox:
        checked = await check_program(sandbox, cheat, RuntimeChecks())
    assert "ENV402" in {finding.code for finding in checked.findings}


async def test_a_grader_that_takes_long_over_a_very_long_answer_is_warned_of(sandbox):
    slow = """
import random


class SlowEnv:
    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.a, self.b = rng.randint(100, 999), rng.randint(100, 999)
        return f"What is {self.a} plus {self.b}? Answer with the number.", {}

    def step(self, action):
        said = action.removeprefix("\\\\boxed{").removesuffix("}")
        for _ in range(len(said) // 2_000):
            sum(range(20_000_000))
        return "Done.", float(said.strip() == str(self.a + self.b)), True, False, {}

    def solution(self):
        return str(self.a + self.b)
"""
    report = await check_runtime(sandbox, slow, GAMES, RuntimeChecks(grading=False))
    (warning,) = [finding for finding in report.findings if finding.code == "ENV212"]
    assert warning.severity == "warning" and "a very long answer" in warning.message
    assert not [finding for finding in report.findings if finding.severity == "error"]


DEMONSTRATION = """

if __name__ == "__main__":
    import sys

    print(GuessEnv().reset(3), file=sys.stderr)
    input()
"""


def test_a_demonstration_below_the_class_is_no_fault() -> None:
    program = Program(parse_python(GUESS + DEMONSTRATION))
    assert not [finding for finding in check_source(GUESS + DEMONSTRATION, GAMES) if finding.severity == "error"]
    assert program.env is not None
    turned = DEMONSTRATION.replace('__name__ == "__main__"', '"__main__" == __name__')
    assert not [finding for finding in check_source(GUESS + turned, GAMES) if finding.severity == "error"]


@pytest.mark.parametrize(
    "above",
    [
        '__name__ = "__main__"\n',
        'for __name__ in ("__main__",):\n    pass\n',
        "from string import digits as __name__\n",
        "def __name__():\n    pass\n",
    ],
)
def test_code_under_a_name_that_the_program_gives_itself_is_looked_at(above: str) -> None:
    codes = {finding.code for finding in check_source(above + GUESS + DEMONSTRATION, GAMES)}
    assert "ENV101" in codes


def test_what_runs_when_it_is_not_the_main_module_is_looked_at() -> None:
    other = DEMONSTRATION.replace("==", "!=")
    assert "ENV101" in {finding.code for finding in check_source(GUESS + other, GAMES)}
    branch = GUESS + '\n\nif __name__ == "__main__":\n    pass\nelse:\n    import sys\n'
    assert "ENV101" in {finding.code for finding in check_source(branch, GAMES)}


async def test_info_that_singles_out_one_of_the_answers_on_offer_is_told(sandbox):
    program = """
import random


class PickEnv:
    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = rng.sample(["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal"], 4)
        ages = rng.sample(range(20, 90), 4)
        self.oldest = max(zip(ages, names))[1]
        told = ", ".join(f"{name} is {age}" for name, age in zip(names, ages))
        return f"{told}. Who is the oldest? Answer with the name.", {INFO}

    def step(self, action):
        said = action.removeprefix("\\\\boxed{").removesuffix("}").strip()
        return "Done.", float(said == self.oldest), True, False, {}

    def solution(self):
        return self.oldest
"""
    for info, told in (('{"target": self.oldest}', True), ('{"names": names}', False), ('{"level": 3}', False)):
        report = await check_runtime(sandbox, program.replace("{INFO}", info), GAMES, RuntimeChecks(grading=False))
        assert ("ENV507" in {finding.code for finding in report.findings}) == told, info


async def test_a_reward_that_rounding_lifts_above_1_is_1(sandbox):
    program = GUESS.replace("1.0, True", "sum([0.1] * 3) + 0.7 + 1e-12, True")
    assert program != GUESS
    report = await check_runtime(sandbox, program, GAMES, RuntimeChecks(grading=False, panel=True))
    assert not [finding for finding in report.findings if finding.code in ("ENV203", "ENV401")]


async def test_a_password_that_only_a_hint_can_tell_is_found(sandbox):
    """One password for all seeds is a constant answer; one a seed makes tasks that nothing tells apart."""
    program = """
import random


class DoorEnv:
    max_turns = 1

    def reset(self, seed=None):
        self.word = {WORD}
        return "The door is locked. Say the word.", {}

    def step(self, action):
        said = action.removeprefix("\\\\boxed{").removesuffix("}").strip()
        return "Done.", float(said == self.word), True, False, {}

    def solution(self):
        return self.word
"""
    for word, code in (
        ('"swordfish"', "ENV404"),
        ('random.Random(seed).choice(["swordfish", "marlin", "tuna"])', "ENV409"),
    ):
        report = await check_runtime(sandbox, program.replace("{WORD}", word), GAMES, RuntimeChecks())
        assert code in {finding.code for finding in report.findings if finding.severity == "error"}, word


async def test_an_order_that_the_task_leaves_open_must_not_matter(sandbox):
    program = """
import random


class DivisorsEnv:
    max_turns = 1

    def reset(self, seed=None):
        self.number = random.Random(seed).choice([12, 18, 20, 28, 30, 42, 44, 45, 50, 52, 63, 66, 68, 70, 75, 76, 78, 92, 98, 99])
        self.all = [n for n in range(2, self.number) if self.number % n == 0]
        return f"Name all divisors of {self.number} between 1 and {self.number}, in any order, with commas.", {}

    def step(self, action):
        said = action.removeprefix("\\\\boxed{").removesuffix("}").split(",")
        said = [part.strip().rstrip(".") for part in said]
        return "Done.", float({GRADE}), True, False, {}

    def solution(self):
        return ", ".join(map(str, self.all))
"""
    strict, fair = "said == [str(n) for n in self.all]", "sorted(said) == sorted(str(n) for n in self.all)"
    for grade, told in ((strict, True), (fair, False)):
        report = await check_runtime(sandbox, program.replace("{GRADE}", grade), GAMES, RuntimeChecks())
        rejected = [finding for finding in report.findings if finding.code == "ENV601"]
        assert any("another order" in finding.message for finding in rejected) == told, report.findings


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "a"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number"}, 1),
        ({"type": ["boolean", "null"]}, True),
        ({"enum": ["red", "green"]}, "red"),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, {"x": "a"}),
        ({"type": "string", "default": "b"}, "b"),
    ],
)
def test_the_plainest_value_of_a_schema(schema, value):
    assert plainest(schema) == value
    check_schema(schema)
    assert coerce(value, schema) == value


async def test_a_world_that_pays_for_any_call_is_refused(sandbox):
    source = (FOLDER / "tool_use" / "switching_a_lamp.py").read_text("utf-8")
    weak = source + "\n\nSwitchingALampEnv._met = lambda self, index: bool(self._call_history)\n"
    assert "class SwitchingALampEnv" in source
    report = await check_runtime(sandbox, weak, TOOL_USE, RuntimeChecks())
    assert any("calling every tool once" in finding.message for finding in report.findings), report.findings


async def test_a_long_quiz_whose_grader_takes_a_pattern_is_refused(sandbox):
    program = """
import random
import re


class QuizEnv:
    max_turns = 8

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.right = 0
        return self.ask(), {}

    def ask(self):
        self.a, self.b = self.rng.randint(10, 99), self.rng.randint(10, 99)
        return f"What is {self.a} + {self.b}?"

    def step(self, action):
        said = action.removeprefix("\\\\boxed{").removesuffix("}").strip()
        try:
            self.right += bool(said) and re.fullmatch(said, str(self.a + self.b)) is not None
        except re.error:
            pass
        if self.right == 6:
            return "All right.", 1.0, True, False, {}
        return self.ask(), 0.0, False, False, {}

    def solution(self):
        return str(self.a + self.b)
"""
    report = await check_runtime(sandbox, program, GAMES, RuntimeChecks(grading=False))
    assert any(finding.code == "ENV404" and "pattern" in finding.message for finding in report.findings)
