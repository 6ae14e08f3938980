import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class BookingAFreeSeatEnv(ToolUseBaseEnv):
    """Travel booking, execute: try one train, and the other if it is full."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        one, other = rng.sample(range(100, 999), 2)
        self._state = {one: rng.choice([0, 3]), other: rng.randint(1, 9)}
        taken = one if self._state[one] else other
        goal = {**self._state, taken: self._state[taken] - 1}
        self._user_messages = [f"Book train {one}, or train {other} if it is full."]
        self._message_criteria = [lambda s: s == goal]
        tries = [one] if taken == one else [one, other]
        self._plan = [[("book", {"train": train}) for train in tries]]
        self._tools = [tool("book", "Book a seat.", ["train"], train=WHOLE)]
        return self._user_messages[0], {}

    def tool_book(self, train):
        if self._state.get(train, 0) < 1:
            return {"error": "no such train, or no seat left"}
        self._state[train] -= 1
        return {"ok": True}
