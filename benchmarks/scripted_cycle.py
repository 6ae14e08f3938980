"""What ``rollout.py`` plays: a program, a scripted endpoint with latencies, and sandboxes to compare with."""

from __future__ import annotations

import asyncio
import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox import MOVES, TYPICAL

from spadework.envs.sandbox.base import Limits, Script, Step, play_singly
from spadework.policies.base import Completion, SamplingParams
from spadework.selfplay.keys import HINT, PLAY
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Key

ENVIRONMENTS, EPISODES, TURNS = 24, 16, 12
PROGRAM = '''
import random


class Between{most}Env:
    """Find a hidden number; what is left of the range is told after each guess."""

    max_turns = 12

    def reset(self, seed=None):
        self.hidden = random.Random(seed).randint(1, {most})
        self.low, self.high, self.turn = 1, {most}, 0
        return self.tell(), {{}}

    def tell(self):
        marks = "".join("=" if self.low <= k * {most} // 40 <= self.high else "." for k in range(40))
        return f"The number lies between {{self.low}} and {{self.high}}.\\n[{{marks}}]\\nGuess it."

    def step(self, action):
        self.turn += 1
        text = action.removeprefix("\\\\boxed{{").removesuffix("}}").strip()
        guess = int(text) if text.isdigit() else 0
        if guess == self.hidden:
            return "Found.", 1.0, True, False, {{}}
        if self.low <= guess < self.hidden:
            self.low = guess + 1
        elif self.hidden < guess <= self.high:
            self.high = guess - 1
        done = self.turn >= 12
        return self.tell(), 0.5 * (1 - (self.high - self.low) / {most}) if done else 0.0, done, False, {{}}

    def solution(self):
        return str(self.hidden)
'''
Latency = Callable[[Key], float]
"""Seconds that the reply to a request takes."""
RANGE = re.compile(r"between (\d+) and (\d+)")


BOXED_MAZE = TYPICAL.replace("action.strip()", "action[7:-1]")
"""The sandbox benchmark's typical program, told its moves in boxes."""


def script(messages: Any, rng: random.Random, version: int) -> str:
    """Designs, hints, and guesses somewhere in what is left of the range."""
    last = messages[-1]["content"]
    if "Write one new environment" in last:
        return f"```python\n{PROGRAM.format(most=rng.randint(5_000, 500_000))}```"
    if "source of a text game" in last:
        return "Halve what is left of the range with every guess, and box the number alone."
    found = RANGE.search(last)
    if found is None:
        return f"\\boxed{{{rng.choice(MOVES)}}}"
    return f"\\boxed{{{rng.randint(int(found[1]), int(found[2]))}}}"


class Endpoint(ScriptedPolicy):
    """The scripted policy, each reply after a time of its own; ``spent`` holds them by request."""

    def __init__(self, latency: Latency) -> None:
        super().__init__(script)
        self.latency = latency
        self.spent: dict[Key, float] = {}

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        seconds = self.latency(key)
        self.spent[key] = seconds
        if seconds:
            await asyncio.sleep(seconds)
        return await super().sample(tokens, params, key)

    def longest_chain(self) -> float:
        """Seconds of replies that had to follow one another: attempts and hint of a slot, turns of an episode."""
        slots: dict[int, float] = defaultdict(float)
        programs: dict[int, float] = defaultdict(float)
        episodes: dict[Key, float] = defaultdict(float)
        for key, seconds in self.spent.items():
            if key[1] == PLAY:
                episodes[key[:-1]] += seconds
                continue
            slots[key[2]] += seconds
            programs[key[2]] += seconds if key[1] != HINT else 0.0
        return max(t + (slots if key[3] else programs)[key[2]] for key, t in episodes.items())


class Nobody:
    """Watches without a word."""

    def stage(self, cycle: int, name: str, total: int) -> None: ...
    def advance(self, tokens: int) -> None: ...
    def note(self, text: str) -> None: ...
    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None: ...


class Unsafe:
    """A sandbox that is none: programs run in this process."""

    async def open(self, source: str, limits: Limits) -> InProcess:
        return InProcess(source)

    async def close(self) -> None: ...


class InProcess:
    """A session of ``Unsafe``."""

    max_turns, tools = TURNS, ()

    def __init__(self, source: str) -> None:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(source, "program", "exec"), namespace)
        self._env = next(value for name, value in namespace.items() if name.endswith("Env"))()

    async def reset(self, seed: int) -> Step:
        return Step(self._env.reset(seed=seed)[0])

    async def step(self, action: str) -> Step:
        observation, reward, terminated, truncated, _ = self._env.step(action)
        return Step(observation, reward, terminated, truncated)

    async def play(self, scripts: Sequence[Script]) -> list[list[Step]]:
        return await play_singly(self, scripts)

    async def close(self) -> None: ...


class Opened:
    """A sandbox whose sessions were opened beforehand."""

    def __init__(self, sessions: dict[str, list[Any]]) -> None:
        self._sessions = sessions

    async def open(self, source: str, limits: Limits) -> Any:
        return self._sessions[source].pop()

    async def close(self) -> None: ...
