"""The seam to where untrusted programs run: ``Sandbox.open`` gives a ``Session``, which is one live instance.

Whatever goes wrong inside is a ``ProgramError``; whatever goes wrong with the inside is a ``SandboxError``. Neither is
ever a return.
"""

from __future__ import annotations

import weakref
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from spadework.background import BackgroundLoop
from spadework.errors import ProgramError
from spadework.text import clean

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one instance may use. CPU time judges a call; wall time is the backstop for sleepers."""

    cpu_seconds: float = 2.0
    """CPU seconds a call (reset, step, or a named method) may burn."""
    load_seconds: float = 5.0
    """CPU seconds that importing the program and building the environment may burn."""
    wall_seconds: float = 20.0
    """Wall seconds after which a call is given up, counted from its dispatch."""
    memory_mb: int = 256
    """Address space above that of the empty interpreter."""
    max_observation: int = 100_000
    """Characters of one observation."""
    reward_bound: float = 1.0
    """A reward must be finite and lie in [-bound, bound]."""
    max_turns: int = 25
    """The run's turn limit; a program's own ``max_turns`` is capped by it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What ``reset`` and ``step`` give: reset has reward 0 and has not ended.

    Its observation has passed ``text.clean``, whatever sandbox it comes from.
    """

    observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "observation", clean(self.observation))

    @property
    def done(self) -> bool:
        """Whether the program ended the episode."""
        return self.terminated or self.truncated


Script = tuple[int, Sequence[str]]
"""A seed, and what is said on it whatever comes back."""


class Session(Protocol):
    """One live instance of one program. One call at a time; after a fatal fault every call raises it again."""

    @property
    def max_turns(self) -> int:
        """The program's own turn budget, capped by the run's."""
        ...

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """OpenAI-format schemas of the program's ``get_tools()``; empty for games. Read after ``reset``."""
        ...

    async def reset(self, seed: int) -> Step:
        """Start the episode of ``seed``. Raises ``ProgramError`` or ``SandboxError``."""
        ...

    async def step(self, action: str) -> Step:
        """One action. Raises ``ProgramError`` or ``SandboxError``."""
        ...

    async def play(self, scripts: Sequence[Script]) -> list[list[Step]]:
        """One episode after the other, each a reset and then its actions until the program ends it.

        Gives what the reset gave and a step for each action that was taken, all without their ``info``. Raises as
        ``reset`` and ``step`` do; a ``ProgramError`` carries the action that it fell over in a note.
        """
        ...

    async def call(self, method: str, *args: Any) -> Any:
        """Call a named method of the environment, JSON in and out (``solution``, ``execute_tool``).

        Raises ``ProgramError`` with code ``ENV204`` when the program has no such method.
        """
        ...

    async def close(self) -> None:
        """Kill the instance. Safe to call twice."""
        ...


class Sandbox(Protocol):
    """Where programs run."""

    async def open(self, source: str, limits: Limits) -> Session:
        """Load ``source`` and build its environment. Raises ``ProgramError`` or ``SandboxError``."""
        ...

    async def close(self) -> None:
        """Kill every instance and helper process."""
        ...


class SyncSession:
    """A ``Session`` for callers without asyncio: the same calls, and each waits for its answer.

    A context manager. A session that is forgotten is closed when it is collected.

    Args:
        session: opened on ``loop``.
        loop: runs the session's calls.
    """

    def __init__(self, session: Session, loop: BackgroundLoop) -> None:
        self.session, self._loop = session, loop
        self._forgotten = weakref.finalize(self, _close_later, session, loop)
        self._forgotten.atexit = False  # the sandbox, which closes then, takes its sessions along

    @property
    def max_turns(self) -> int:
        """See ``Session.max_turns``."""
        return self.session.max_turns

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """See ``Session.tools``."""
        return self.session.tools

    def reset(self, seed: int) -> Step:
        """Start the episode of ``seed``. Raises ``ProgramError`` or ``SandboxError``."""
        return self.wait(self.session.reset(seed))

    def step(self, action: str) -> Step:
        """One action. Raises ``ProgramError`` or ``SandboxError``."""
        return self.wait(self.session.step(action))

    def call(self, method: str, *args: Any) -> Any:
        """See ``Session.call``."""
        return self.wait(self.session.call(method, *args))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work``, which uses the session, where the session lives, and wait for its result."""
        return self._loop.run(work)

    def close(self) -> None:
        """Kill the instance. Safe to call twice."""
        if self._forgotten.detach() is not None:
            self.wait(self.session.close())

    def __enter__(self) -> SyncSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _close_later(session: Session, loop: BackgroundLoop) -> None:
    loop.begin(session.close())


async def play_singly(session: Session, scripts: Sequence[Script]) -> list[list[Step]]:
    """``Session.play`` by ``reset`` and ``step``, for sessions that save nothing by taking them together."""
    episodes: list[list[Step]] = []
    for seed, actions in scripts:
        episodes.append([replace(await session.reset(seed), info={})])
        for action in actions:
            episodes[-1].append(replace(await act(session, action), info={}))
            if episodes[-1][-1].done:
                break
    return episodes


async def act(session: Session, action: str) -> Step:
    """One step; a fault of the program carries the action in a note."""
    try:
        return await session.step(action)
    except ProgramError as error:
        blame(error, action)
        raise


def blame(error: ProgramError, action: str) -> None:
    """Note on ``error`` the action that the program fell over."""
    error.add_note(f"on the action {action[:120]!r}")
