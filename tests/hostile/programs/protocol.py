"""Forged messages, lies in types, and a runner pulled apart from inside."""

from __future__ import annotations

from programs.base import Hostile, program

FINE = "return 'stopped', 0, False, False, {}"
FORGE = """
import os, struct
def forge(reward=0.0, text=b'forged', told=b'', number=None, size=None, flags=0, observed=None):
    size = len(text) + len(told) if size is None else size
    observed = len(text) if observed is None else observed
    os.write(3, struct.pack('<IIBdI', size, number, flags, reward, observed) + text + told)
"""


def forged(name: str, call: str, codes: str, then: str = FINE) -> Hostile:
    """A program that writes to its socket itself. Its step is the third request of a play that was loaded as it is,
    the second of one that was forked: it forges for both, in turn."""
    return program(name, f"{call}\n{then}", codes, head=FORGE)


RAW = "import os\nos.write(3, {data})\n"
MESSAGES = (
    forged("a reward beyond the bound", "forge(1e9, number=2)", "ENV208"),
    forged("a reward that is not a number", "forge(float('nan'), number=2)", "ENV208"),
    forged("an infinite reward", "forge(float('inf'), number=2)", "ENV208"),
    forged("the wrong request", "forge(1.0, number=77)", "ENV208"),
    forged("a reply before the reply", "forge(1.0, number=2)\nforge(1.0, number=2)", "ENV208 none"),
    forged("an endless size", "forge(size=2 ** 32 - 1, number=2)", "ENV208"),
    forged("an observation larger than the reply", "forge(observed=99, number=2)", "ENV208"),
    forged("flags that do not exist", "forge(flags=255, number=2)", "ENV208"),
    forged("a promise of more replies", "forge(flags=8, number=2)", "ENV208"),
    forged("text that is not UTF-8", "forge(text=b'\\xff\\xfe', number=2)", "ENV208"),
    forged("info that is not JSON", "forge(told=b'{', number=2)", "ENV208"),
    forged("info that is a list", "forge(told=b'[]', number=2)", "ENV208"),
    forged("info too deep to read", "forge(told=b'[' * 100_000, number=2)", "ENV208"),
    forged("a fault of no known code", 'forge(flags=4, told=b\'{"code": "SBX001"}\', number=2)', "ENV208"),
    forged("a truncated reply", "os.write(3, b'\\x10\\0\\0')\nwhile True: pass", "ENV205"),
    program("noise", RAW.format(data="bytes(range(256)) * 99") + FINE, "ENV208"),
    program("a flood without end", "import os\nwhile True: os.write(3, b'\\0' * 65536)", "ENV208"),
    program("read the next request itself", "import os\nos.read(3, 99)", "ENV205"),
)
TYPES = (
    program("NaN", "return 'x', float('nan'), False, False, {}", "ENV203"),
    program("infinity", "return 'x', -float('inf'), False, False, {}", "ENV203"),
    program("a huge reward", "return 'x', 10 ** 300, False, False, {}", "ENV203"),
    program("a reward in words", "return 'x', 'one', False, False, {}", "ENV202"),
    program("a reward that is complex", "return 'x', 1j, False, False, {}", "ENV202"),
    program(
        "a float that lies",
        "class F(float):\n    def __float__(self): return float('nan')\n    def __abs__(self): return 0\nreturn 'x', F(9e9), False, False, {}",
        "ENV203 ENV202",
    ),
    program(
        "a string that lies",
        "class S(str):\n    def __len__(self): return 1\n    def encode(self, *_): return b'x' * 10 ** 8\nreturn S('x' * 10 ** 6), 0, False, False, {}",
        "ENV207 ENV208 ENV202",
    ),
    program("an observation of bytes", "return b'x', 0, False, False, {}", "ENV202"),
    program("a nested observation", "return [['x']], 0, False, False, {}", "ENV202"),
    program("a tuple without end", "return iter(int, 1)", "ENV202"),
)
PATCHES = (
    program(
        "patched builtins",
        "import builtins\nfor n in ('len', 'isinstance', 'float', 'abs', 'type', 'str', 'tuple'): setattr(builtins, n, lambda *a, **k: 1)\n"
        + FINE,
        "none ENV201 ENV202 ENV203 ENV205 ENV208",
    ),
    program(
        "patched json and math",
        "import json, math\njson.dumps = json.JSONEncoder.encode = lambda *a: '{'\nmath.isfinite = lambda x: True\nreturn 'x', float('nan'), False, False, {'x': 1}",
        "ENV203 ENV208",
    ),
    program(
        "patched checks",
        "import sys\nfor n, m in list(sys.modules.items()):\n    if n.endswith('checks'): m.reward = lambda v, b: v\nreturn 'x', 1e9, False, False, {}",
        "ENV208",
    ),
    program(
        "patched limits",
        "import gc\nfor x in gc.get_objects():\n    if type(x).__name__ == 'Runner': x.limits.update(max_observation=10 ** 9, reward_bound=1e9)\nreturn 'x' * 10 ** 6, 1e6, False, False, {}",
        "ENV207 ENV208",
    ),
    program(
        "another class after load",
        "import sys\nsys.modules['env_program'].HostileEnv = dict\nself.__class__ = type('Other', (), {})\n" + FINE,
        "none",
    ),
    program("no module any more", "import sys\nsys.modules.clear()\n" + FINE, "none ENV201 ENV208"),
    program(
        "patched os and struct",
        "import os, struct\nos.write = os.read = lambda *a: b''\nstruct.Struct.pack = None\n" + FINE,
        "none ENV201",
    ),
    program("no os any more", "import os\nfor n in list(vars(os)): delattr(os, n)\n" + FINE, "none"),
)

PROGRAMS = MESSAGES + TYPES + PATCHES
