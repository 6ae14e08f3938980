"""Ways around the list of imports are refused, and ordinary Python is not."""

from __future__ import annotations

import importlib
import types

import pytest

from spadework.domains.games import GAMES
from spadework.envs.check.static import reflection
from spadework.envs.check.static.source import check_source
from spadework.envs.contract import ALLOWED_IMPORTS

GOOD = """
class GoodEnv:
    def reset(self, seed=None):
        return str(seed)

    def step(self, action):
        return action, 0.0, True, False, {}
"""


def codes(line: str) -> set[str]:
    return {finding.code for finding in check_source(f"{line}\n{GOOD}", GAMES)}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("X = random._os", "ENV111"),
        ("import random as r; X = r._os.sys.modules", "ENV111"),
        ("m = random; X = m._os", "ENV111"),
        ("random = random; X = vars(random)", "ENV111"),
        ("import statistics; X = statistics.sys", "ENV111"),
        ("from statistics import sys", "ENV111"),
        ("from random import _os", "ENV111"),
        ("import numpy as np; X = np.random._pickle", "ENV111"),
        ("X = getattr(random, '_' + 'os')", "ENV111"),
        ("X = getattr(random, '_os')", "ENV111"),
        ("X = vars(random)", "ENV111"),
        ("X = random.__dict__", "ENV111"),
        ("MODULES = [random]; X = MODULES[0]._os", "ENV111"),
        ("import datetime; X = datetime.datetime.mro()", "ENV108"),
        ("X = (1).__class__.__subclasses__()", "ENV108"),
        ("def f(): pass\nX = f.__globals__", "ENV108"),
        ("X = __builtins__", "ENV108"),
        ("X = len.__self__", "ENV108"),
        ("X = (i for i in ()).gi_frame", "ENV108"),
        ("def f(frame): return frame.f_back", "ENV108"),
        ("X = getattr(f_back := 1, 'f_globals')", "ENV108"),
    ],
)
def test_a_way_around_is_refused(line: str, code: str) -> None:
    assert codes(line) == {code}


@pytest.mark.parametrize(
    "line",
    [
        "class A:\n    def __init__(self): self._os = self._x = 1\ndef f(a): return a._os + a._x",
        "class A:\n    def __init__(self): self.f_back = 1\ndef f(a): return a.f_back",
        "class A:\n    def _sys(self): return self.__class__.__name__",
        "class A:\n    def __init__(self, rng): self._random = rng\ndef f(a): return a._random.random()",
        "P = namedtuple('P', 'x'); Q = P(1)._replace(x=2)._asdict()",
        "class D(dict):\n    def __init__(self): dict.__init__(self)",
        "class D(deque):\n    def __init__(self): deque.__init__(self)",
        "from collections import Counter\nclass C(Counter):\n    def __init__(self): Counter.__init__(self)",
        "X = getattr(math, 'sqrt')(2)",
        "def f(self, name): return getattr(self, 'tool_' + name)()",
        "import numpy as np; X = np.trace(np.eye(2)) + np.select([True], [1])",
        "import math_verify; V = math_verify.__version__",
        "def f(mro): return mro",
        "def f(string, name): return getattr(string, name) or string.__class__",
        "X = 'mro'",
        "def f(self): return dict(self.__dict__)",
    ],
)
def test_ordinary_python_is_not(line: str) -> None:
    assert codes(line) == set()


@pytest.mark.parametrize("name", sorted(ALLOWED_IMPORTS - {"math_verify", "tool_use_base_env", "__future__"}))
def test_no_public_function_is_taken_for_a_hidden_module(name: str) -> None:
    module = importlib.import_module(name)
    public = [attribute for attribute in dir(module) if not attribute.startswith("_")]
    hidden = [attribute for attribute in public if reflection._is_private(name, attribute)]
    assert [attribute for attribute in hidden if not isinstance(getattr(module, attribute), types.ModuleType)] == []


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np; X = np.datetime64('now')",
        "from numpy import datetime64 as when; X = when('today')",
        "import time; X = time.asctime()",
        "import time; X = time.strftime('%Y')",
        "from time import time as now; X = now()",
        "import datetime as d; X = d.datetime.now()",
        "import numpy as np; X = np.ndarray((3,))",
        "from numpy.random import default_rng; X = default_rng()",
    ],
)
def test_what_the_seed_does_not_rule_is_named(line: str) -> None:
    assert codes(line) == {"ENV303"}


@pytest.mark.parametrize(
    "line",
    [
        "import time; X = time.asctime(time.gmtime(0)), time.strftime('%Y', time.gmtime(0))",
        "import numpy as np; X = np.datetime64('2024-01-01'), np.ndarray((3,), int, bytes(24)), np.empty(3)",
        "from numpy.random import default_rng; X = default_rng(3)",
        "def f(a): return isinstance(a, np.ndarray)",
    ],
)
def test_what_the_seed_rules_is_not(line: str) -> None:
    assert codes(line) == set()


@pytest.mark.parametrize(
    ("step", "refused"),
    [
        ("return action.format(env=self)", True),
        ("text = action.strip(); return ('You: ' + text).format_map(vars(self))", True),
        ("return 'You said {}'.format(action)", False),
        ("return self.answer.format(action)", False),
    ],
)
def test_player_text_is_no_format(step: str, refused: bool) -> None:
    source = GOOD.replace("return action, 0.0, True, False, {}", step)
    found = {finding.code for finding in check_source(source, GAMES)}
    assert ("ENV106" in found) is refused
