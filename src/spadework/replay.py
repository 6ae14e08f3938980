"""Re-execute a stored episode in the sandbox, from its seed and actions, and find the first difference."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from spadework.envs.check.players import Play, recite
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.episode import ReturnType, episode_return, first_observation
from spadework.errors import ProgramError
from spadework.types import CONTROL_ARMS, Ending, Environment, Episode, Turn

Facts = dict[tuple[int | None, str], object]
"""(turn, or ``None`` for the whole episode; name of the fact) -> value, in the order in which they occurred."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first fact that differs. ``turn`` counts from 0, and is ``None`` for a fact about the whole episode."""

    turn: int | None
    field: str
    stored: object
    replayed: object

    def __str__(self) -> str:
        place = "" if self.turn is None else f"turn {self.turn}, "
        return f"{place}{self.field}: was {self.stored!r}, is {self.replayed!r}"


async def replay_episode(
    sandbox: Sandbox,
    environment: Environment,
    episode: Episode,
    limits: Limits,
    return_type: ReturnType = "last",
    discount: float = 1.0,
) -> Difference | None:
    """Compare observations, rewards, ending and return of a stored episode with those that its program gives now.

    An episode that a fault ended is compared up to its last complete turn, since the action that met the fault is not
    stored.
    Raises ``SandboxError``.
    """
    cut = _was_cut(episode)
    actions = [turn.action for turn in episode.turns[: len(episode.turns) - cut]]
    try:
        session = await sandbox.open(environment.source, limits)
        try:
            (played,) = await recite(session, [(episode.seed, actions)])
        finally:
            await session.close()
    except ProgramError as error:
        known = episode.fault.code if episode.fault else None
        return None if known == error.fault.code else Difference(None, "fault", known, str(error))
    opening = first_observation(played.opening, _hint(episode, environment))
    turns = _turns(episode.turns, opening, played)
    ending = _ending(episode, played, session.max_turns, cut)
    return_ = episode.return_
    if episode.valid and ending is not None:
        return_ = episode_return([turn.reward for turn in turns], ending, return_type, discount)
    last = played.steps[-1].observation if played.steps else ""
    stored = _facts(episode.turns, episode.last_observation, episode.ending, episode.return_)
    return _first_difference(stored, _facts(turns, last, ending, return_))


def _hint(episode: Episode, environment: Environment) -> str:
    """The text in the hint's place. Only the episode itself stores that of a control arm, so it is read from there."""
    if episode.arm in CONTROL_ARMS:
        return episode.turns[0].observation.partition("\n\nHINT: ")[2] if episode.turns else ""
    return environment.hint if episode.arm == "hinted" else ""


def _was_cut(episode: Episode) -> bool:
    """Whether the token limit cut off the last reply, in which case the program never received its action."""
    if episode.ending != "token_limit" or not episode.turns or episode.turns[-1].action:
        return False
    before = episode.turns[-1].observation if len(episode.turns) > 1 else ""
    return episode.last_observation == before


def _turns(stored: Sequence[Turn], opening: str, played: Play) -> tuple[Turn, ...]:
    """The replayed turns. A turn that was cut off has no reward, and turns are missing where the program ends early."""
    observations = (opening, *(step.observation for step in played.steps))
    rewards = [*(float(step.reward) for step in played.steps), 0.0]
    again = [
        dataclasses.replace(turn, observation=observation, reward=reward)
        for turn, observation, reward in zip(stored, observations, rewards, strict=False)
    ]
    return tuple(again[: len(played.steps)] if played.done else again)


def _ending(episode: Episode, played: Play, max_turns: int, cut: bool) -> Ending | None:
    """How the episode ends now; ``None`` when the program would continue where it had ended.

    An ending that does not depend on the program (a token limit, a fault) is kept as stored.
    """
    if played.done:
        return "terminated" if played.steps[-1].terminated else "truncated"
    if len(played.steps) >= max_turns and not cut:
        return "truncated"
    return episode.ending if episode.ending in ("token_limit", "fault") else None


def _facts(turns: Sequence[Turn], last_observation: str, ending: Ending | None, return_: float) -> Facts:
    facts: Facts = {}
    for number, turn in enumerate(turns):
        facts[number, "observation"] = turn.observation
        facts[number, "reward"] = turn.reward
    return {**facts, (None, "last observation"): last_observation, (None, "ending"): ending, (None, "return"): return_}


def _first_difference(stored: Facts, replayed: Facts) -> Difference | None:
    """Compare by ``repr``, which distinguishes values such as 1 and 1.0, and under which NaN equals itself."""
    for (turn, field), was in stored.items():
        now = replayed.get((turn, field))
        if repr(was) != repr(now):
            return Difference(turn, field, was, now)
    return None
