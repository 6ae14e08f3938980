"""Which modules a program gets: what it imports or mentions, however it says so."""

from __future__ import annotations

import pytest

from spadework.envs.sandbox.forkserver.launch import Kind, kind_of


@pytest.mark.parametrize(
    "source",
    [
        "import random, json\nfrom collections import deque\nfrom copy import copy, deepcopy as d",
        "from __future__ import annotations\nimport collections.abc as c, re  # decimal",
        "class GuessEnv:\n    '''Without any import.'''",
    ],
)
def test_what_most_games_import_is_common(source: str) -> None:
    assert kind_of(source) == Kind()


@pytest.mark.parametrize(
    "source",
    [
        "import decimal",
        "import random, decimal as d",
        "from decimal import Decimal",
        "import json; import uuid",
        "try: import sqlite3\nexcept ImportError: pass",
        "import \\\n  datetime",
        "import os.path",
        "from . import other",
        "x = statistics.mean([1])",
        "class MineEnv(SqliteToolEnv): pass",
        "__import__('deci' + 'mal')",
        "'\\N{EM DASH}'",
    ],
)
def test_anything_else_gets_all(source: str) -> None:
    assert kind_of(source) == Kind(uncommon=True)


def test_the_heavy_ones_come_with_all() -> None:
    assert kind_of("a = np.zeros(3)") == kind_of("import numpy.linalg") == Kind(uncommon=True, numpy=True)
    assert kind_of("from math_verify import parse") == Kind(uncommon=True, numpy=True, math_verify=True)
