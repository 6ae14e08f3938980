"""Loops, in every place and of every kind; deaths and floods."""

from __future__ import annotations

from programs.base import Hostile, program

FINE = "return 'stopped', 0, False, False, {}"
AFTER_REPLY = """
import sys
for name in list(sys.modules):
    if name.endswith("runner"):
        def spin(*_):
            while True: pass
        sys.modules[name]._receive = spin
return 'stopped', 0, False, False, {}
"""

HANGS = (
    program("loop at import", FINE, "ENV205", head="while True: pass"),
    program(
        "loop in the constructor",
        FINE,
        "ENV205",
        head="class FirstEnv:\n    def __init__(self):\n        while True: pass",
    ),
    program("loop in reset", FINE, "ENV205", reset="while True: pass"),
    program("loop in step", "while True: pass", "ENV205"),
    program("loop after the reply", AFTER_REPLY, "none ENV205", idle=1.7),
    program(
        "loop that swallows everything",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "ENV205",
    ),
    program(
        "loop that swallows signals",
        "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
        "ENV205",
    ),
    program(
        "a timer that calls back",
        "import signal\nsignal.signal(14, lambda *_: None)\nsignal.setitimer(0, 0.001, 0.001)\nwhile True: pass",
        "ENV205",
    ),
    program("a huge power", "return str((10 ** 7 + 1) ** (10 ** 7)), 0, False, False, {}", "ENV205 ENV201"),
    program("a catastrophic pattern", "return str(re.match('(a+)+$', 'a' * 60 + 'b')), 0, False, False, {}", "ENV205"),
    program(
        "a flood of colliding hashes",
        "return str(len({i * (2 ** 61 - 1) for i in range(200_000)})), 0, False, False, {}",
        "ENV205",
    ),
    program("a C loop", "return str(sum(iter(int, 1))), 0, False, False, {}", "ENV205"),
    program(
        "a C loop over itertools", "return str(deque(itertools.repeat(1), maxlen=0)), 0, False, False, {}", "ENV205"
    ),
    program(
        "a loop in __str__ of an error",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
        "ENV205",
    ),
    program(
        "a loop in a finaliser", "class D:\n    def __del__(self):\n        while True: pass\nD()\n" + FINE, "ENV205"
    ),
    program(
        "a lock that nobody opens",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "ENV205",
    ),
    program(
        "a raw sleep",
        "import ctypes, os, struct\nctypes.CDLL(None).syscall({'x86_64': 35, 'aarch64': 101}[os.uname().machine], struct.pack('qq', 99, 0), 0)",
        "ENV205",
    ),
    program("a slow sort", "x = list(range(10 ** 7))\nwhile True: x.sort(key=lambda i: -i)", "ENV205 ENV206"),
    program(
        "a trace function that loops",
        "import sys\ndef spin(*_):\n    while True: pass\nsys.setprofile(spin)\n" + FINE,
        "ENV205",
    ),
    Hostile("a parser bomb of brackets", "(" * 200_000, frozenset({"ENV001", "ENV208"})),
    Hostile(
        "a parser bomb of operators", "x = " + "-" * 100_000 + "1", frozenset({"ENV001", "ENV208", "ENV205", "ENV002"})
    ),
    Hostile(
        "a constant that explodes",
        "x = (((1 << 60) ** 60) ** 60) ** 60\n",
        frozenset({"ENV002", "ENV205", "ENV206", "ENV003"}),
    ),
)

DEATHS = (
    program("sys.exit", "import sys\nsys.exit(0)", "ENV201"),
    program("os._exit", "import os\nos._exit(0)", "ENV208"),
    program("os._exit at load", FINE, "ENV208", head="import os\nos._exit(3)"),
    program("a segmentation fault", "import ctypes\nctypes.string_at(0)", "ENV208"),
    program("abort", "import os\nos.abort()", "ENV208"),
    program(
        "a stack that overflows in C", "import ctypes\nf = ctypes.CDLL(None).memset\nf(id(f), 65, 1 << 20)", "ENV208"
    ),
    program("close the socket", "import os\nos.close(3)\nwhile True: pass", "ENV208 ENV205"),
    program("close everything", "import os\nos.closerange(0, 99)\n" + FINE, "ENV208"),
)

FLOODS = (
    program("stdout", "for _ in range(1000): print('x' * 10_000)\n" + FINE, "none"),
    program("raw stdout", "import os\nfor _ in range(1000): os.write(1, b'x' * 10_000)\n" + FINE, "none"),
    program("warnings", "import warnings\nfor i in range(1000): warnings.warn('x' * 1000 + str(i))\n" + FINE, "none"),
    program("a gigantic observation", "return 'x' * 10 ** 7, 0, False, False, {}", "ENV207"),
    program("a wide observation", "return '\\U0001f600' * 10 ** 6, 0, False, False, {}", "ENV207"),
    program("a gigantic info", "return 'x', 0, False, False, {'x': 'y' * 10 ** 7}", "ENV202"),
    program(
        "a nested info",
        "x = {}\nfor _ in range(10 ** 5): x = {'x': x}\nreturn 'x', 0, False, False, x",
        "ENV202 ENV208",
    ),
    program("an info that holds itself", "x = {}\nx['x'] = x\nreturn 'x', 0, False, False, x", "ENV202"),
)

PROGRAMS = HANGS + DEATHS + FLOODS
