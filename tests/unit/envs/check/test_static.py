from __future__ import annotations

import ast
from pathlib import Path

import pytest

from spadework.envs.check.static.source import check_source
from spadework.envs.check.static.taint import player_text_calls
from spadework.envs.check.syntax import Program, required
from spadework.envs.registry import find_domain, recognise
from spadework.resources import shipped
from spadework.text import parse_python

ENVIRONMENTS = shipped("examples") / "environments"
GOOD = """\
import random
class GoodEnv:
    def reset(self, seed=None):
        self.n = random.Random(seed).randint(1, 99)
        return "?", {}
    def step(self, action):
        return "", float(action == str(self.n)), True, False, {}
"""


def codes(source, domain="games"):
    return {finding.code for finding in check_source(source, find_domain(domain))}


def test_a_good_program_has_no_findings():
    assert check_source(GOOD, find_domain("games")) == []


@pytest.mark.parametrize("folder", ["games", "tool_use"])
def test_bundled_environments_are_clean(folder):
    for path in sorted((ENVIRONMENTS / folder).glob("*.py")):
        assert check_source(path.read_text(), recognise(path.read_text())) == [], path.name


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("import os.path", "ENV101"),
        ("from . import helpers", "ENV101"),
        ("from requests import get", "ENV105"),
        ("import numpy as np; np.save('x', 1)", "ENV103"),
        ("import sqlite3; sqlite3.connect('file.db')", "ENV103"),
        ("exit()", "ENV103"),
        ("X = getattr(1, '__globals__')", "ENV108"),
        ("import random; R = random.Random()", "ENV303"),
        ("import uuid; U = uuid.uuid4()", "ENV303"),
        ("def f():\n    global G\n    G = 1", "ENV304"),
    ],
)
def test_one_line_that_is_not_allowed(line, code):
    assert codes(f"{line}\n{GOOD}") == {code}


@pytest.mark.parametrize(
    "line",
    [
        "import sqlite3; DB = sqlite3.connect(':memory:')",
        "from collections import Counter",
        "import numpy as np; A = np.arange(3)",
        "from math_verify import parse, verify",
        "NAME = (1).__class__.__name__",
        "while True:\n    break",
        "def spin():\n    while True:\n        for i in range(3):\n            if i: return",
    ],
)
def test_what_is_allowed(line):
    assert codes(f"{line}\n{GOOD}") == set()


def test_a_break_of_an_inner_loop_does_not_end_the_outer_one():
    assert codes("def f():\n    while True:\n        for i in []:\n            break\n" + GOOD) == {"ENV110"}


@pytest.mark.parametrize("source", ["def f(:", "x = '\0'", "(" * 500 + ")" * 500, "-" * 100_000 + "1", "x" * 200_001])
def test_what_does_not_parse_is_a_finding_and_never_an_exception(source):
    assert codes(source) == {"ENV001"}


def test_findings_stand_in_the_order_of_their_lines_and_once():
    lines = [finding.line for finding in check_source("import os\nimport sys\n" + GOOD, find_domain("games"))]
    assert lines == sorted(lines) == [1, 2]


def test_the_environment_may_inherit_its_methods():
    inherited = GOOD.replace("class GoodEnv:", "class Base:") + "class RealEnv(Base):\n    pass\n"
    assert codes(inherited) == set()
    assert codes("class ShopEnv(ToolUseBaseEnv):\n    def reset(self, seed=None):\n        return str(seed)\n") == set()


def test_required_parameters():
    function = parse_python("def f(self, a, b=1, *, c, d=2): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert required(function) == ["a", "c"]


@pytest.mark.parametrize(
    ("step", "tainted"),
    [
        ("return eval(action)", True),
        ("x = action.strip(); y = [x]; return eval(y[0])", True),
        ("for part in action.split(): eval(part)", True),
        ("return eval(str(int(action)))", False),
        ("return self.helper(action)", True),
        ("self.kept = action; return self.use()", True),
        ("return eval('1 + 1')", False),
        ("n = len(action); return eval(f'{n} + 1')", False),
    ],
)
def test_player_text_is_followed_to_eval(step, tainted):
    source = f"""
class AEnv:
    def helper(self, text): return eval(text)
    def use(self): return exec(self.kept)
    def step(self, action):
        {step}
"""
    assert bool(list(player_text_calls(Program(parse_python(source)), {"eval", "exec"}))) is tainted


def test_domains_are_read_off_the_source():
    assert recognise(GOOD).name == "games"
    assert recognise("class AEnv(ToolUseBaseEnv): pass").name == "tool_use"
    assert recognise("not python at all").name == "games"


def test_line_numbers_point_at_the_fault():
    path = Path(ENVIRONMENTS / "broken" / "ENV106_evaluates_the_action.py")
    (finding,) = [one for one in check_source(path.read_text(), find_domain("games")) if one.code == "ENV106"]
    assert finding.line is not None
    assert "eval(text)" in path.read_text().splitlines()[finding.line - 1]
