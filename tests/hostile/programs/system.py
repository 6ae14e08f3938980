"""Processes, threads and signals."""

from __future__ import annotations

from programs.base import Hostile, attack

CALLS = "number = {{'x86_64': {x86}, 'aarch64': {arm}}}[os.uname().machine]\n"


def raw(x86: int, arm: int, rest: str) -> str:
    """A raw call on either machine."""
    return CALLS.format(x86=x86, arm=arm) + rest


TEMPLATE_FORK = """
import os
try:
    children = [os.fork() for _ in range(50)]
except OSError as error:
    children = error

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return ("stopped" if isinstance(children, OSError) else "ESCAPED: forked at load"), 0, False, False, {}
"""
TEMPLATE_CLONE = """
import ctypes, os
number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]
result = ctypes.CDLL(None).syscall(number, 0x8000 | 17, 0, 0, 0, 0)
if result == 0:
    while True: pass

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return ("stopped" if result < 0 else "ESCAPED: cloned at load"), 0, False, False, {}
"""
TEMPLATE_LIES = """
import os, struct
try:
    os.write(4, struct.pack("<i", 1))
except OSError:
    pass

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return "stopped", 0, False, False, {}
"""
TEMPLATE_DEAF = """
import gc, sys
for thing in gc.get_objects():
    if type(thing).__name__ == "Template":
        thing._serve_fork = lambda: None

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return "stopped", 0, False, False, {}
"""
TEMPLATE_CLAIMS = """
import gc, os, struct
for thing in gc.get_objects():
    if type(thing).__name__ == "Template":
        def lie(self=thing):
            self._control.recvmsg(16, 64)
            self._control.send(struct.pack("<i", 1))
        thing._serve_fork = lie

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return "stopped", 0, False, False, {}
"""
TEMPLATE_GREEDY = """
import gc, os
for thing in gc.get_objects():
    if type(thing).__name__ == "Template":
        def many(self=thing, clone=thing._clone):
            for _ in range(5):
                if clone(self._clone_number, 0x8000 | 17, 0, 0, 0, 0) == 0:
                    while True: pass
        thing._serve_fork = many

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return "stopped", 0, False, False, {}
"""
TEMPLATE_DIES = """
import gc, os
for thing in gc.get_objects():
    if type(thing).__name__ == "Template":
        def vanish(self=thing, clone=thing._clone):
            if clone(self._clone_number, 0x8000 | 17, 0, 0, 0, 0) == 0:
                while True: pass
            os._exit(0)
        thing._serve_fork = vanish

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return "stopped", 0, False, False, {}
"""
TEMPLATE_SHARES = """
import ctypes
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
shared = mmap(None, ctypes.c_size_t(4096), 3, 0x21, -1, ctypes.c_long(0)) != ctypes.c_void_p(-1).value

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return ("ESCAPED: memory shared between plays" if shared else "stopped"), 0, False, False, {}
"""

TEMPLATE_ACTS = """
import gc, threading
lock = threading.Lock()
lock.acquire()
for thing in gc.get_objects():
    if type(thing).__name__ == "Template":
        thing.{method} = lambda *_, it=thing: {act}

class HostileEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        return "stopped", 0, False, False, {{}}
"""


def acting(name: str, method: str, act: str, codes: str) -> Hostile:
    """A program that replaces a method of the template that it is loaded in."""
    return Hostile(name, TEMPLATE_ACTS.format(method=method, act=act), frozenset(codes.split()))


PROGRAMS = (
    attack("exec", "os.execv('/bin/sh', ['sh', '-c', 'true'])"),
    attack("os.system", "return os.system('touch @DIRECTORY@/touched') == 0"),
    attack("posix_spawn", "return os.posix_spawn('/bin/sh', ['sh'], {})"),
    attack("raw execve", raw(59, 221, "return syscall(number, b'/bin/sh', 0, 0) + 1")),
    attack("raw execveat", raw(322, 281, "return syscall(number, 3, b'', 0, 0, 0x1000) + 1")),
    attack("fork bomb", "while True:\n    if os.fork() == 0:\n        while True: pass"),
    attack("raw vfork and clone", raw(56, 220, "return syscall(number, 17, 0, 0, 0, 0) + 1")),
    attack("raw clone3", "import ctypes\nreturn syscall(435, ctypes.create_string_buffer(88), 88) + 1"),
    attack("clone with a parent", raw(56, 220, "return syscall(number, 0x8000 | 17, 0, 0, 0, 0) + 1")),
    attack(
        "thread bomb",
        "import threading\nthreads = [threading.Thread(target=list, args=(iter(int, 1),)) for _ in range(100)]\nreturn [t.start() for t in threads]",
    ),
    attack("double fork at pty", "return os.forkpty()[0] + 1"),
    attack("kill everybody", "os.kill(-1, 9)\nreturn 'killed'"),
    attack("kill the host", "os.kill(@VICTIM@, 9)\nreturn 'killed'"),
    attack("signal the parent", raw(110, 173, "os.kill(syscall(number), 9)\nreturn 'killed'")),
    attack("signal our group", "os.killpg(0, 9)\nreturn 'killed'"),
    attack("signal init", "os.kill(1, 9)\nreturn 'killed'"),
    attack("tgkill the host", raw(234, 131, "return syscall(number, @VICTIM@, @VICTIM@, 9) + 1")),
    attack("pidfd of the parent", "return syscall(434, 1, 0) + 1"),
    attack("queue a signal", raw(129, 138, "return syscall(number, @VICTIM@, 10, bytes(128)) + 1")),
    attack("leave the group", "os.setsid()\nreturn 'left'"),
    attack("change priority", "os.setpriority(0, 0, 19)\nreturn 'changed'"),
    attack("become root", "os.setuid(0)\nreturn 'root'"),
    attack("outlive the parent", raw(157, 167, "return syscall(number, 1, 0) + 1")),
    attack("be traceable", raw(157, 167, "return syscall(number, 4, 1) + 1")),
    attack("raise a limit", "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\nreturn 'set'"),
    attack("limit the parent", raw(302, 261, "return syscall(number, 1, 7, bytes(16), 0) + 1")),
    Hostile("fork at load", TEMPLATE_FORK, frozenset({"none"})),
    Hostile("clone at load", TEMPLATE_CLONE, frozenset({"none"})),
    Hostile("a template that speaks out of turn", TEMPLATE_LIES, frozenset({"none", "ENV208"})),
    Hostile("a template that does not fork", TEMPLATE_DEAF, frozenset({"none", "ENV208", "ENV205"})),
    Hostile("a template that claims another's process", TEMPLATE_CLAIMS, frozenset({"none", "ENV208"})),
    Hostile("a template that forks too much", TEMPLATE_GREEDY, frozenset({"none", "ENV208", "ENV205"})),
    Hostile("a template that leaves a fork behind", TEMPLATE_DIES, frozenset({"none", "ENV208", "ENV205"})),
    Hostile("a template that shares memory", TEMPLATE_SHARES, frozenset({"none"})),
    acting("a play that spins at its birth", "_become_play", "sum(iter(int, 1))", "ENV205"),
    acting("a play that sleeps at its birth", "_become_play", "lock.acquire()", "ENV205"),
    acting("a play that exits at its birth", "_become_play", "__import__('os')._exit(0)", "ENV208"),
    acting(
        "a play that hangs up at its birth",
        "_become_play",
        "(__import__('os').closerange(3, 99), lock.acquire())",
        "ENV208",
    ),
    acting("a template that sleeps over a fork", "_serve_fork", "lock.acquire()", "ENV205"),
    acting("a template that spins over a fork", "_serve_fork", "sum(iter(int, 1))", "ENV205"),
    acting("a template that sends nothing", "_serve_fork", "it._control.send(b'')", "ENV208"),
)
