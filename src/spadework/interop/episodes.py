"""One environment, played episode after episode as text in and text out: what every door to a framework is made of.

All doors pay alike: nothing before the end, and the episode's return at its end. The rewards of single steps are told
beside it. A fault is raised and never paid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spadework import build
from spadework.api.inputs import ConfigSource, EnvironmentSource, read_config, read_environment
from spadework.api.playing import open_episode, open_session
from spadework.config import RunConfig
from spadework.envs.registry import find_domain
from spadework.episode import SyncEpisode
from spadework.errors import ConfigError
from spadework.types import Message, Turn

MOST_GOLD_TURNS = 100
"""Turns after which a program's own solution is taken for one that never ends."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came back for one reply of the agent."""

    observation: str
    reward: float
    """The episode's return, in [-1, 1], once it has ended; 0 before."""
    terminated: bool
    """The program ended the episode."""
    truncated: bool
    """The turn limit, or the program's own limit, cut the episode."""
    step_reward: float
    """What the program paid for this step alone."""

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


class Episodes:
    """Plays one environment, one episode at a time. Not for several threads at once.

    Args:
        environment: an ``Environment``, the text of a program, or the path or name of one.
        hint: whether the environment's hint is shown.
        config: limits, turns, system prompt and return type; the defaults where it is ``None``.

    Raises:
        ConfigError: the environment cannot be read, or has no hint to show.
    """

    def __init__(
        self, environment: EnvironmentSource, *, hint: bool = False, config: ConfigSource | None = None
    ) -> None:
        self.environment = read_environment(environment)
        if hint and not self.environment.hint:
            raise ConfigError(f"the environment {self.environment.id} has no hint to show; use hint=False")
        self._hint, self._config = hint, config
        self._episode: SyncEpisode | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far: system prompt, observations and replies."""
        return self._current.messages

    @property
    def instructions(self) -> str:
        """The system prompt, which says in what form a reply is read; empty where there is none."""
        return instructions(self.environment.domain, self._config)

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """OpenAI-format schemas of the tools that the agent may call; none in games."""
        return self._current.tools

    @property
    def max_turns(self) -> int:
        """The turn after which the episode is cut."""
        return self._current.max_turns

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The exchanges of the episode so far, each with the program's reward."""
        return self._current.turns

    @property
    def return_(self) -> float:
        """What the episode paid, in [-1, 1]; NaN before its end, and where a fault ended it."""
        return self._current.return_

    @property
    def ending(self) -> str | None:
        """How the episode ended; ``None`` while it goes on."""
        return self._current.ending

    def reset(self, seed: int) -> str:
        """Begin the episode of ``seed`` and return what the agent sees first. The one before is given up.

        Raises:
            ProgramError: the program failed.
            SandboxError: the sandbox failed.
        """
        self.close()
        self._episode = open_episode(self.environment, seed, self._hint, config=self._config)
        return self._episode.messages[-1]["content"]

    def step(self, reply: str) -> Exchange:
        """Play one whole reply of the agent. Raises as ``SyncEpisode.advance`` does."""
        episode = self._current
        messages = episode.advance(reply)
        said = "\n".join(one["content"] for one in messages) if messages else episode.last_observation
        return Exchange(
            observation=said,
            reward=episode.return_ if episode.done else 0.0,
            terminated=episode.ending == "terminated",
            truncated=episode.done and episode.ending != "terminated",
            step_reward=episode.turns[-1].reward,
        )

    def close(self) -> None:
        """Free the sandbox's instance. Safe to call twice."""
        if self._episode is not None:
            self._episode.close()

    def __enter__(self) -> Episodes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _current(self) -> SyncEpisode:
        if self._episode is None:
            raise ValueError("no episode has begun: call reset(seed) first")
        return self._episode


def instructions(domain: str, config: ConfigSource | None = None) -> str:
    """The system prompt of an agent in ``domain``, under ``config`` or the defaults; empty where there is none."""
    settings = RunConfig() if config is None else read_config(config)
    opening = build.build_play(settings, domain).opening
    return "\n\n".join(one["content"] for one in opening if one["role"] == "system")


def gold_actions(environment: EnvironmentSource, seed: int) -> Iterator[str]:
    """The actions of the program's own ``solution()`` on ``seed``, read from an instance that nobody else plays.

    Nothing comes from a program whose ``solution()`` gives ``None``. Raises ``ProgramError`` for a program that has
    none, and ``SandboxError``.
    """
    read = read_environment(environment)
    dialogue = find_domain(read.domain).dialogue
    with open_session(read) as twin:
        twin.reset(seed)
        for _ in range(MOST_GOLD_TURNS):
            answer = twin.call("solution")
            if answer is None:
                return
            action = dialogue.encode(str(answer))
            yield action
            if twin.step(action).done:
                return
