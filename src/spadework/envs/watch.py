"""Looks into a running environment: its state after every step, and what each step changed.

The program runs with the domain's probe appended, in an instance of its own: episodes of a run and checks play the
program as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spadework.envs.check.syntax import Program
from spadework.envs.domain import Change, Domain
from spadework.envs.sandbox.base import Limits, Sandbox, Session
from spadework.errors import ProgramError
from spadework.text import parse_python

_METHOD = "spadework_shown_state"
_PLAIN = '''

def _spadework_plain(value, depth=8):
    """JSON data; what is none is named by its type, for an address would differ from one instance to the next."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if depth and isinstance(value, dict):
        return {str(key): _spadework_plain(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, (list, tuple)):
        return [_spadework_plain(item, depth - 1) for item in value]
    if depth and isinstance(value, (set, frozenset)):
        return sorted((_spadework_plain(item, depth - 1) for item in value), key=repr)
    return f"<{type(value).__name__}>"

'''


@dataclass(frozen=True, slots=True)
class Watched:
    """The state after a step (the first entry: after the reset), and where it differs from the one before."""

    state: Any
    changes: tuple[Change, ...] = ()


def watched_source(source: str, domain: Domain) -> str:
    """The source with a method that gives its state; as it is where it is no program with an environment."""
    try:
        env = Program(parse_python(source)).env
    except SyntaxError:
        return source
    if env is None:
        return source
    method = f"{env.name}.{_METHOD} = lambda self: _spadework_plain(spadework_state(self))"
    return f"{source.rstrip()}\n\n\n{domain.display.probe}{_PLAIN}\n{method}\n"


async def read_state(session: Session) -> Any:
    """The state of a session whose source is a ``watched_source``; ``None`` where it cannot be read."""
    try:
        return await session.call(_METHOD)
    except ProgramError:
        return None


async def watch(
    sandbox: Sandbox, domain: Domain, source: str, play: tuple[int, Sequence[str]], limits: Limits
) -> list[Watched]:
    """Play ``(seed, actions)`` once more and look at the state after the reset and after every action.

    A program that fails on the way gives what was seen until then. Raises ``SandboxError``.
    """
    seen: list[Watched] = []
    seed, actions = play
    try:
        session = await sandbox.open(watched_source(source, domain), limits)
    except ProgramError:
        return seen
    try:
        await session.reset(seed)
        seen.append(Watched(await read_state(session)))
        for action in actions:
            step = await session.step(action)
            state = await read_state(session)
            seen.append(Watched(state, tuple(domain.display.difference(seen[-1].state, state))))
            if step.done:
                break
    except ProgramError:
        pass
    finally:
        await session.close()
    return seen
