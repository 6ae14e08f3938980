"""How a hostile program is written down."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """A program, and what may become of it.

    ``@SECRET@``, ``@DIRECTORY@``, ``@TCP@``, ``@UDP@``, ``@ABSTRACT@``, ``@VICTIM@`` in a source stand for a readable file
    with a secret in it, a folder that everyone may write, ports and a socket name on which somebody listens, and the
    process id of the host.
    """

    name: str
    source: str
    codes: frozenset[str]
    """The faults that it may end in; ``none`` if it may also go on playing, harmlessly."""
    idle: float = 0.0
    """Seconds to leave it alone after its step."""


def attack(name: str, body: str, codes: str = "none") -> Hostile:
    """A program whose ``attack()`` raises when it is stopped, and returns evidence when it is not."""
    source = f"""
import os, sys

def syscall(number, *arguments):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(*[ctypes.c_long(value) if isinstance(value, int) else value for value in (number, *arguments)])
    if result < 0:
        raise OSError(ctypes.get_errno(), "stopped")
    return result

def attack():
{textwrap.indent(textwrap.dedent(body), "    ")}

class AttackEnv:
    def reset(self, seed=None):
        return "ready"

    def step(self, action):
        try:
            evidence = attack()
        except Exception as error:
            return "stopped: " + repr(error), 0, False, False, {{}}
        return ("ESCAPED: " + repr(evidence)) if evidence else "stopped", 0, False, False, {{}}
"""
    return Hostile(name, source, frozenset(codes.split()))


def program(
    name: str, step: str, codes: str, *, head: str = "", reset: str = "return 'ready'", idle: float = 0.0
) -> Hostile:
    """A program with these bodies."""
    parts = [textwrap.dedent(head), "class HostileEnv:", "    def reset(self, seed=None):"]
    parts += [textwrap.indent(textwrap.dedent(reset), " " * 8), "    def step(self, action):"]
    parts += [textwrap.indent(textwrap.dedent(step), " " * 8)]
    return Hostile(name, "\n".join(parts), frozenset(codes.split()), idle)
