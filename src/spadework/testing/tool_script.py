"""The script of a toy tool-use run for ``ScriptedPolicy``, as ``scripted.demo_script`` is for games.

It designs programs about levels in rooms, some of them broken, and plays them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

from spadework.policies.base import Message

PROGRAM = '''\
import random


def tool(name, description, required, properties):
    parameters = {{"type": "object", "properties": properties, "required": required}}
    return {{"name": name, "description": description, "parameters": parameters}}


class Levels{low}To{high}Env(ToolUseBaseEnv):
    """Raise one level, copy it to another room, and leave the third as it is."""

    def __init__(self, max_turns=8):
        super().__init__(max_turns)

    def reset(self, seed=None):
        rng = random.Random(seed)
        room, other, third = rng.sample(["hall", "attic", "porch"], 3)
        levels = dict(zip((room, other, third), rng.sample(range({low}, {high}), 3)))
        more = rng.randint({high} - {low}, {high})
        goal, kept = levels[room] + more, levels[third]
        self._state = {{"levels": levels}}
        room_kind = {{"type": "string", "enum": ["hall", "attic", "porch"]}}
        self._tools = [
            tool("read_level", "The level in a room.", ["room"], {{"room": room_kind}}),
            tool("set_level", "Set it.", ["room", "level"], {{"room": room_kind, "level": {{"type": "integer"}}}}),
            tool("opening_hours", "When the rooms are open.", [], {{}}),
        ]
        self._user_messages = [
            f"Raise the level in the {{room}} by {{more}}.",
            f"Now set the {{other}} to the same level.",
            f"And tell me when you have seen that the {{third}} is as it was.",
        ]
        self._message_criteria = [
            lambda state: state["levels"][room] == goal,
            lambda state: state["levels"][other] == goal,
            lambda state: state["levels"] == {{room: goal, other: goal, third: kept}},
        ]
        self._plan = [
            [("read_level", {{"room": room}}), ("set_level", {{"room": room, "level": goal}})],
            [("set_level", {{"room": other, "level": goal}})],
            [("read_level", {{"room": third}})],
        ]
        return self._user_messages[0], {{}}

    def tool_read_level(self, room):
        return {{"level": self._state["levels"][room]}}

    def tool_set_level(self, room, level):
        if level < 0:
            return {{"error": "levels start at 0"}}
        self._state["levels"][room] = level
        return {{"room": room, "level": level}}

    def tool_opening_hours(self):
        return {{"from": 9, "to": 17}}
'''
HINTS = (
    "Read the level first and add to it. Set the sum in the room that was named, then in the other. Read the third.",
    "Look the level up, raise it by what was asked, and give the other room the same. Leave the last one as it is.",
    "Three phases: read and add, set the sum twice, look at the third room. Opening hours are of no use.",
)


def tool_script(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """Plays designer, agent and judge. A fifth of its programs is broken, and its play improves with each version."""
    asked = messages[-1]["content"]
    if "Judge each criterion" in asked:
        return "Criteria: 3\n1: possible\n2: possible\n3: hard"
    if "source of a tool-use environment" in asked:
        return rng.choice(HINTS)
    if "Write one new tool-use environment" in asked:
        low = rng.randint(10, 50)
        program = PROGRAM.format(low=low, high=low + rng.randint(20, 40))
        return f"```python\n{program.replace('more = rng', 'more == rng') if rng.random() < 0.2 else program}```"
    return _serve(messages, rng, version)


def _serve(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """The agent's next call, which is sometimes malformed or has a wrong value."""
    told = [m["content"] for m in messages if m["role"] in ("user", "tool")]
    first = next((text for text in told if text.startswith("Raise ")), None)
    if first is None:
        return "yes"  # this is no episode but a preflight request, which only checks that the model answers
    skill = min(0.95, 0.4 + 0.05 * version + (0.3 if "HINT" in first else 0.0))
    found = re.search(r"in the (\w+) by (\d+)", first)
    other = re.search(r"set the (\w+) to the same", "\n".join(told))
    read = re.search(r'"level": (\d+)', "\n".join(text for text in told if text != first))
    assert found is not None
    room, more = found[1], int(found[2])
    if read is None:
        return _call("read_level", room=room) if rng.random() < 0.9 else '<tool_call>{"name": "read_level"'
    goal = int(read[1]) + more + (0 if rng.random() < skill else 1)
    said = "\n".join(m["content"] for m in messages if m["role"] == "assistant")
    if "set_level" not in said:
        return _call("set_level", room=room, level=goal)
    if other is not None and f'"room": "{other[1]}"' not in said:
        return _call("set_level", room=other[1], level=goal)
    return "<answer>done</answer>"


def _call(name: str, **arguments: str | int) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
