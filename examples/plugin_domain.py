"""A domain of your own in one file: text adventures, played with commands in square brackets.

Train on it with ``spadework train scripted --set domain=examples/plugin_domain.py:ADVENTURE``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from spadework.envs.check.codes import Code
from spadework.envs.check.findings import Finding
from spadework.envs.check.syntax import Program
from spadework.envs.domain import Briefing, Checks, Dialogue, Display, Domain, Shown, Task
from spadework.types import Message

COMMAND = re.compile(r"\[\s*([a-z]+(?: [a-z]+)*)\s*\]")
VERBS = ("go", "take", "open", "wait")
PLACES = ("cellar", "harbour", "greenhouse", "attic")


class Commands(Dialogue):
    """The last command in square brackets is played: ``I go on. [go north]``."""

    def action(self, reply: str) -> str:
        found = COMMAND.findall(reply.lower())
        return f"[{found[-1]}]" if found else ""

    def malformed(self, action: str) -> bool:
        return action[1:-1].split()[0] not in VERBS

    def encode(self, answer: str) -> str:
        return answer if COMMAND.fullmatch(answer) else f"[{answer}]"

    def decode(self, action: str) -> str | None:
        match = COMMAND.fullmatch(action)
        return match[1] if match else None


class AdventureChecks(Checks):
    """Two rules of this domain's own: a program keeps its place in ``self.room``, and waiting never wins."""

    codes = {"ADV001": Code("error", "no room", "The state is shown by its room.", "self.x = 1", "self.room = 1")}
    idle = {"waiting": "[wait]"}

    def static(self, program: Program) -> Iterator[Finding]:
        names = {getattr(node, "attr", "") for node in program.nodes}
        if "room" not in names:
            yield Finding("ADV001", "the program never sets self.room")


class AdventureBriefing(Briefing):
    """Every design is about a place, drawn by its seed."""

    def draw_task(self, seed: int) -> Task:
        place = random.Random(seed).choice(PLACES)
        return Task(place, {"place": place})


class AdventureDisplay(Display):
    """A step is a command; the state is where the player is and what the player holds."""

    probe = "def spadework_state(env):\n    return {'room': env.room, 'held': env.held}\n"

    def step(self, action: str) -> list[Shown]:
        verb, _, rest = action[1:-1].partition(" ")
        return [Shown("call", verb, {"what": rest})] if action else []


PROGRAM = '''\
import random


class {name}Env:
    """Something lies next to the hall of the {place}: fetch it within {turns} turns."""

    max_turns = {turns}

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.side = rng.choice(["north", "south", "east", "west"])
        self.thing = rng.choice(["lamp", "rope", "map", "coin"])
        self.paces = rng.randint({low}, {high})
        self.room, self.held, self.turn = "hall", [], 0
        return f"You are in the hall of the {place}. A {{self.thing}} lies {{self.paces}} paces to the {{self.side}}.", {{}}

    def step(self, action):
        self.turn += 1
        verb, _, rest = action.strip("[]").partition(" ")
        if verb == "go" and rest == self.side and self.room == "hall":
            self.room = "store"
        elif verb == "take" and rest == self.thing and self.room == "store":
            self.held.append(rest)
            return "You have it.", 1.0, True, False, {{}}
        return f"You are in the {{self.room}}.", 0.0, False, self.turn >= {turns}, {{}}

    def solution(self):
        return f"take {{self.thing}}" if self.room == "store" else f"go {{self.side}}"
'''


def demo(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """Plays designer, hint writer and agent of a short run in the place of a model."""
    last = messages[-1]["content"]
    if "Write one new text adventure" in last:
        place = re.search(r"set in a (\w+)", last)
        assert place is not None
        low, turns = rng.randint(5, 500), rng.randint(2, 4)
        name = f"{place[1].title()}Errand"
        source = PROGRAM.format(name=name, place=place[1], low=low, high=2 * low, turns=turns)
        return f"```python\n{source.replace('self.room', 'self.spot') if rng.random() < 0.2 else source}```"
    if "source of a text adventure" in last:
        return "Go where the thing lies, then take it."
    told = "\n".join(message["content"] for message in messages)
    found = re.search(r"A (\w+) lies \d+ paces to the (\w+)", told)
    assert found is not None
    if rng.random() > 0.4 + 0.1 * version + (0.3 if "HINT" in told else 0.0):
        return "I look around. [wait]"
    return f"[take {found[1]}]" if "in the store" in last else f"I set out. [go {found[2]}]"


ADVENTURE = Domain(
    name="adventure",
    briefing=AdventureBriefing(
        prompts=Path(__file__).parent / "plugin_domain_prompts",
        skills=("Navigation", "Planning"),
    ),
    dialogue=Commands(),
    checks=AdventureChecks(),
    display=AdventureDisplay(),
    demo=demo,
)
