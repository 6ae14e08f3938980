"""The script of a toy run on databases: it writes worlds about parcel lockers, some broken, and works in them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from string import Template
from typing import Any

from spadework.envs.tool_calls import render_call
from spadework.types import Message

PROGRAM = Template('''\
import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
SIZES = ["small", "medium", "large"]
NAMES = "Ada Ben Cleo Dov Edda Finn Gita Hal Iris Jon Kaia Leo Mina Noor Olaf Pia".split()


class Lockers${low}To${high}Env(SqliteToolEnv):
    """A parcel goes to a free locker of the size that its owner asks for, and the owner is told."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE residents (id INTEGER PRIMARY KEY, name TEXT, flat INTEGER);
    CREATE TABLE lockers (id INTEGER PRIMARY KEY, size TEXT);
    CREATE TABLE parcels (id INTEGER PRIMARY KEY, resident INTEGER REFERENCES residents (id),
                          locker INTEGER REFERENCES lockers (id));
    CREATE TABLE notices (resident INTEGER PRIMARY KEY REFERENCES residents (id), text TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        people = [(n, name, 1 + i) for i, (n, name) in enumerate(zip(rng.sample(range($low, $high), 16), NAMES))]
        lockers = [(n, SIZES[i % 3]) for i, n in enumerate(rng.sample(range(100, 999), 22))]
        parcels = [(n, people[i][0], lockers[i][0]) for i, n in enumerate(rng.sample(range(1000, 9999), 12))]
        self._fill({"residents": people, "lockers": lockers, "parcels": parcels, "notices": []})
        number, owner, old = rng.choice(parcels)
        name = next(row[1] for row in people if row[0] == owner)
        size = rng.choice(SIZES)
        taken = {row[2] for row in parcels}
        new = min(n for n, kind in lockers if kind == size and n not in taken)
        said = f"locker {new}"
        self._user_messages = [
            f"Move the parcel of {name} to the free {size} locker with the lowest number, "
            "and leave the owner a notice that says 'locker' and that number."
        ]
        self._message_criteria = [
            f"SELECT locker = {new} FROM parcels WHERE id = {number}",
            f"SELECT text = '{said}' FROM notices WHERE resident = {owner}",
        ]
        self._expected_changes = {
            "parcels": {"added": [(number, owner, new)], "removed": [(number, owner, old)]},
            "notices": {"added": [(owner, said)], "removed": []},
        }
        self._plan = [
            [
                ("find_resident", {"name": name}),
                ("list_parcels", {"resident_id": owner}),
                ("free_lockers", {"size": size}),
                ("move_parcel", {"parcel_id": number, "locker_id": new}),
                ("leave_notice", {"resident_id": owner, "text": said}),
            ]
        ]
        self._tools = [
            tool("find_resident", "Number and flat of a resident.", name=TEXT),
            tool("list_parcels", "Parcels of a resident.", resident_id=WHOLE),
            tool("free_lockers", "Free lockers of a size.", size={"type": "string", "enum": SIZES}),
            tool("move_parcel", "Put a parcel into a free locker.", parcel_id=WHOLE, locker_id=WHOLE),
            tool("leave_notice", "Leave a resident a notice.", resident_id=WHOLE, text=TEXT),
            tool("return_parcel", "Send a parcel back to the post.", parcel_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, number):
        rows = self.query(sql, number)
        if not rows:
            raise ValueError(f"there is no number {number}")
        return rows[0]

    def tool_find_resident(self, name):
        return self._one("SELECT * FROM residents WHERE name = ?", name)

    def tool_list_parcels(self, resident_id):
        return self.query("SELECT * FROM parcels WHERE resident = ?", resident_id)

    def tool_free_lockers(self, size):
        return self.query("SELECT id FROM lockers WHERE size = ? AND id NOT IN (SELECT locker FROM parcels)", size)

    def tool_move_parcel(self, parcel_id, locker_id):
        self._one("SELECT * FROM parcels WHERE id = ?", parcel_id)
        self._one("SELECT * FROM lockers WHERE id = ? AND id NOT IN (SELECT locker FROM parcels)", locker_id)
        self._state.execute("UPDATE parcels SET locker = ? WHERE id = ?", (locker_id, parcel_id))
        return {"parcel_id": parcel_id, "locker_id": locker_id}

    def tool_leave_notice(self, resident_id, text):
        self._one("SELECT * FROM residents WHERE id = ?", resident_id)
        self._state.execute("INSERT OR REPLACE INTO notices VALUES (?, ?)", (resident_id, text))
        return {"resident_id": resident_id, "text": text}

    def tool_return_parcel(self, parcel_id):
        self._one("SELECT * FROM parcels WHERE id = ?", parcel_id)
        self._state.execute("DELETE FROM parcels WHERE id = ?", (parcel_id,))
        return {"returned": parcel_id}
''')
_SLIP = ("self._fill({", "self.fill({")
"""What a broken program has in another way."""
HINTS = (
    "Find the owner, the owner's parcel and the free lockers. Move it to the lowest number, then leave the notice.",
    "Look up three things: who, which parcel, which lockers are free. Change two: the locker and the notice.",
    "First read, then write. Take the lowest free locker of the size that was asked for. Send nothing back.",
)


def database_script(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """Plays both roles and the judge: a fifth of the programs is broken, and play gets better with each version."""
    asked = messages[-1]["content"]
    if "Judge each criterion" in asked:
        return "Criteria: 2\n1: possible\n2: hard"
    if "source of a database world" in asked:
        return rng.choice(HINTS)
    if "Write one new database world" in asked:
        low = rng.randint(10, 90)
        program = PROGRAM.substitute(low=low, high=low + rng.randint(40, 80))
        return f"```python\n{program.replace(*_SLIP) if rng.random() < 0.2 else program}```"
    return _work(messages, rng, version)


def _work(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """The next call; sometimes one that cannot be read, a wrong locker, or one change too many."""
    told = [message["content"] for message in messages if message["role"] in ("user", "tool")]
    first = next((index for index, text in enumerate(told) if "Move the parcel of" in text), None)
    if first is None:
        return "yes"  # nothing of an episode: a first request that only looks whether somebody answers
    asked = re.search(r"parcel of (\w+) to the free (\w+) locker", told[first])
    assert asked is not None
    seen = [value for text in told[first + 1 :] if (value := _read(text)) is not None]
    skill = min(0.95, 0.4 + 0.05 * version + (0.3 if "HINT" in told[first] else 0.0))
    if len(seen) < 3:
        return _look_up(seen, asked[1], asked[2], rng)
    parcel, free = seen[1][0]["id"], sorted(row["id"] for row in seen[2])
    if len(seen) == 3:
        locker = free[0] if rng.random() < skill else free[-1]
        return render_call("move_parcel", {"parcel_id": parcel, "locker_id": locker})
    if len(seen) == 4:
        notice = {"resident_id": seen[0]["id"], "text": f"locker {seen[3]['locker_id']}"}
        return render_call("leave_notice", notice)
    return "<answer>done</answer>" if rng.random() < 0.9 else render_call("return_parcel", {"parcel_id": parcel})


def _look_up(seen: Sequence[Any], name: str, size: str, rng: random.Random) -> str:
    """The first three calls, which look up the resident, the parcel and the lockers."""
    if len(seen) == 1:
        return render_call("list_parcels", {"resident_id": seen[0]["id"]})
    if len(seen) == 2:
        return render_call("free_lockers", {"size": size})
    return render_call("find_resident", {"name": name}) if rng.random() < 0.9 else '<tool_call>{"name": "find'


def _read(text: str) -> Any:
    """The result of a call; ``None`` for an error and for other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return None if isinstance(value, dict) and "error" in value else value
