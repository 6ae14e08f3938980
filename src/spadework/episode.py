"""An episode without a policy: what the agent is shown, what its replies do, and what they are paid.

``LiveEpisode`` is a state machine over one session of the sandbox. ``rollout`` drives it with a policy; an adapter for
another framework drives it with that framework's agent; ``SyncEpisode`` lets a plain script drive it by hand.

    messages = await episode.open(session, seed)
    while not episode.done:
        messages = await episode.advance(reply)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Session, SyncSession
from spadework.errors import FaultError
from spadework.types import Ending, Fault, Message, Turn

ReturnType = Literal["last", "sum", "discounted"]


class LiveEpisode:
    """One episode while it is played.

    Args:
        domain: by name; its dialogue decides what of a reply reaches the program, and who speaks an observation.
        opening: the messages before the first observation: system prompt and few-shot turns.
        return_type: how the rewards become the return; see ``episode_return``.
        discount: of ``return_type="discounted"``, per turn.
    """

    def __init__(
        self,
        domain: str,
        opening: Sequence[Message] = (),
        return_type: ReturnType = "last",
        discount: float = 1.0,
    ) -> None:
        self.domain = domain
        self._dialogue = find_domain(domain).dialogue
        self.messages: list[Message] = list(opening)
        """The conversation so far, the agent's replies included: what a chat model takes."""
        self.turns: list[Turn] = []
        """The exchanges that are complete."""
        self.last_observation = ""
        """What the program said last in answer to an action."""
        self.ending: Ending | None = None
        """How the episode ended; ``None`` while it goes on."""
        self.fault: Fault | None = None
        """What ended it, where ``ending`` is ``"fault"``."""
        self._return_type: ReturnType = return_type
        self._discount = discount
        self._session: Session | None = None
        self._observation = ""

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.ending is not None

    @property
    def return_(self) -> float:
        """What the episode paid, in [-1, 1]; NaN before its end, and where a fault ended it."""
        if self.ending is None or self.ending == "fault":
            return math.nan
        rewards = [turn.reward for turn in self.turns]
        return episode_return(rewards, self.ending, self._return_type, self._discount)

    async def open(self, session: Session, seed: int, hint: str = "") -> tuple[Message, ...]:
        """Reset ``session`` with ``seed`` and return the messages that the agent answers first.

        Args:
            session: of the environment's program. It stays the caller's, who closes it.
            seed: decides the task. The same seed gives the same task.
            hint: stands below the program's opening; an empty one is not shown.

        Raises:
            ValueError: the episode was opened before.
            ProgramError: the program failed; the episode has then ended with that fault.
            SandboxError: the sandbox failed; likewise.
        """
        if self._session is not None or self.done:
            raise ValueError("an episode is opened once; make another LiveEpisode for the next one")
        self._session = session
        try:
            step = await session.reset(seed)
        except FaultError as error:
            self.fail(error.fault)
            raise
        self._observation = first_observation(step.observation, hint)
        self.messages.append(Message(role="user", content=self._observation))
        return tuple(self.messages)

    async def advance(self, reply: str) -> tuple[Message, ...]:
        """Play one reply of the agent and return the messages that it answers next; none when the episode has ended.

        The reply is whole, as the agent said it: the domain's dialogue finds what the program gets of it. A reply
        without an action is played as an empty one.

        Raises:
            ValueError: the episode is not open, or has ended.
            ProgramError: the program failed; the episode has then ended with that fault, and the reply is no turn.
            SandboxError: the sandbox failed; likewise.
        """
        session = self._session
        if session is None or self.done:
            raise ValueError("the episode has ended" if self.done else "open() the episode before its first advance()")
        action = self._dialogue.action(reply)
        try:
            step = await session.step(action)
        except FaultError as error:
            self.fail(error.fault)
            raise
        malformed = not action or self._dialogue.malformed(action)
        self.turns.append(Turn(self._observation, reply, action, step.reward, malformed))
        self.messages.append(Message(role="assistant", content=reply))
        self.last_observation = step.observation
        if step.done:
            self.ending = "terminated" if step.terminated else "truncated"
        elif len(self.turns) >= session.max_turns:
            self.ending = "truncated"
        if self.done:
            return ()
        self._observation = step.observation
        spoken = self._dialogue.messages(step.observation, action)
        self.messages.extend(spoken)
        return tuple(spoken)

    def cut(self, reply: str | None = None) -> None:
        """End the episode by a token limit.

        Args:
            reply: what the agent had said when the limit cut it off; the program never gets it. ``None`` where there
                was no room for a reply at all.
        """
        if reply is not None:
            self.turns.append(Turn(self._observation, reply, "", 0.0))
            self.messages.append(Message(role="assistant", content=reply))
        self.ending = "token_limit"

    def fail(self, fault: Fault) -> None:
        """End the episode by a fault, of the program or of somebody else. It then has no return."""
        self.ending, self.fault = "fault", fault


class SyncEpisode:
    """An open ``LiveEpisode`` for callers without asyncio. A context manager: leaving it frees the sandbox's instance.

    Args:
        session: of the environment's program; the episode closes it at its end.
        episode: not opened yet.
        seed: decides the task.
        hint: stands below the program's opening; an empty one is not shown.

    Raises:
        ProgramError: the program failed.
        SandboxError: the sandbox failed.
    """

    def __init__(self, session: SyncSession, episode: LiveEpisode, seed: int, hint: str = "") -> None:
        self._session, self._episode = session, episode
        try:
            session.wait(episode.open(session.session, seed, hint))
        except BaseException:
            session.close()
            raise

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, as a chat model takes it; the agent speaks next unless the episode is ``done``."""
        return tuple(self._episode.messages)

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """OpenAI-format schemas of the tools that the agent may call; none in games."""
        return self._session.tools

    @property
    def max_turns(self) -> int:
        """The turn after which the episode is cut."""
        return self._session.max_turns

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The exchanges so far, each with its reward."""
        return tuple(self._episode.turns)

    @property
    def last_observation(self) -> str:
        """What the program said last in answer to an action."""
        return self._episode.last_observation

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self._episode.done

    @property
    def ending(self) -> Ending | None:
        """How the episode ended; ``None`` while it goes on."""
        return self._episode.ending

    @property
    def fault(self) -> Fault | None:
        """What ended the episode, where ``ending`` is ``"fault"``."""
        return self._episode.fault

    @property
    def return_(self) -> float:
        """What the episode paid, in [-1, 1]; NaN before its end, and where a fault ended it."""
        return self._episode.return_

    def advance(self, reply: str) -> tuple[Message, ...]:
        """Play one whole reply of the agent; the messages that came back, or none when the episode has ended.

        Raises:
            ValueError: the episode has ended.
            ProgramError: the program failed; the episode has then ended with that fault.
            SandboxError: the sandbox failed; likewise.
        """
        try:
            return self._session.wait(self._episode.advance(reply))
        finally:
            if self.done:
                self._session.close()

    def close(self) -> None:
        """Free the sandbox's instance. Safe to call twice."""
        self._session.close()

    def __enter__(self) -> SyncEpisode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def first_observation(opening: str, hint: str) -> str:
    """What the agent sees first: the program's opening, and the hint below it if there is one."""
    return f"{opening}\n\nHINT: {hint}" if hint else opening


def episode_return(rewards: Sequence[float], ending: Ending, kind: ReturnType = "last", discount: float = 1.0) -> float:
    """The return of an episode, clipped to [-1, 1] (method section 6).

    ``last``: the last step's reward if the program terminated the episode, else 0. ``sum`` and ``discounted`` add up
    the rewards of all steps, however it ended.
    """
    if kind == "last":
        value = rewards[-1] if rewards and ending == "terminated" else 0.0
    else:
        gamma = discount if kind == "discounted" else 1.0
        value = sum(reward * gamma**step for step, reward in enumerate(rewards))
    return min(1.0, max(-1.0, value))
