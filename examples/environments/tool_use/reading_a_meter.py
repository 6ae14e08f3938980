import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class ReadingAMeterEnv(ToolUseBaseEnv):
    """Smart home, missing value: one look-up, one answer."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        self._state = {room: rng.randint(100, 999) for room in ("hall", "attic", "porch")}
        room = rng.choice(list(self._state))
        self._expected_answer = self._state[room]
        self._plan = [[("read_meter", {"room": room})]]
        self._tools = [tool("read_meter", "Value of the meter in a room.", ["room"], room=TEXT)]
        return f"What does the meter in the {room} show?", {}

    def tool_read_meter(self, room):
        return {"value": self._state[room]} if room in self._state else {"error": "no such room"}
