"""What a program must define, and the names it may use (the published contract; docs/environments.md).

A program is one self-contained Python source with a class whose name ends in ``Env``:

    reset(seed=None) -> observation | (observation, info)
    step(action)     -> (observation, reward, terminated, truncated, info)

and, if it likes, ``solution()``, ``get_tools()``, ``execute_tool(name, arguments)``, ``close()``, ``render()``, and a
constructor that takes ``difficulty``, an integer from 0 (the easiest), with a default.
"""

from __future__ import annotations

BASE_CLASSES = frozenset({"Env", "ToolUseBaseEnv", "SqliteToolEnv"})
"""Provided classes: never taken for the program's own."""

PRELUDE_MODULES = (
    "itertools",
    "math",
    "random",
    "re",
    "json",
    "collections",
    "functools",
    "string",
    "copy",
    "heapq",
    "operator",
    "statistics",
    "numpy",
)
"""Modules that a program may use without importing them (released pools do); numpy also as ``np``."""

PRELUDE_NAMES = {
    "collections": ("deque", "defaultdict", "Counter", "OrderedDict", "namedtuple"),
    "itertools": ("combinations", "permutations", "product", "chain", "accumulate"),
    "functools": ("reduce", "lru_cache"),
    "copy": ("deepcopy",),
    "heapq": ("heappush", "heappop"),
    "typing": (
        *("Any", "Callable", "Dict", "FrozenSet", "Iterable", "List", "Mapping"),
        *("Optional", "Sequence", "Set", "Tuple", "Union"),
    ),
}
"""Names of those modules that a program may use without importing them."""

ALLOWED_IMPORTS = frozenset(
    """
    __future__ abc array base64 bisect calendar cmath collections colorsys contextlib copy csv dataclasses datetime
    decimal difflib enum fractions functools graphlib hashlib heapq hmac io itertools json keyword math math_verify
    numbers numpy operator pprint random re reprlib secrets sqlite3 statistics string struct textwrap time
    tool_use_base_env typing unicodedata uuid zlib
    """.split()
)
"""Top-level modules that a program may import. Children of the sandbox open no file: this list is what is loaded."""

LEVEL = "DIFFICULTY"
"""A module's last assignment of this name is what a constructor that takes ``difficulty`` is given."""


def box(answer: str) -> str:
    """How an action reaches a game: the content of the reply's last balanced box, boxed again."""
    return f"\\boxed{{{answer}}}"
