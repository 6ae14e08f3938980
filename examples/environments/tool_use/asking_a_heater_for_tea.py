import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class AskingAHeaterForTeaEnv(ToolUseBaseEnv):
    """Smart home, irrelevant request: decline the first wish, serve the second."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        room = rng.choice(["hall", "attic", "porch", "study", "cellar"])
        drink = rng.choice(["tea", "cocoa", "coffee"])
        self._state = {"warm": []}
        self._user_messages = [f"Make me a {drink}.", f"Then warm the {room}."]
        self._message_criteria = [lambda s: s["warm"] in ([], [room]), lambda s: s["warm"] == [room]]
        self._plan = [[], [("warm", {"room": room})]]
        self._tools = [tool("warm", "Warm a room.", ["room"], room=TEXT)]
        return self._user_messages[0], {}

    def tool_warm(self, room):
        if room not in ("hall", "attic", "porch", "study", "cellar"):
            return {"error": "no such room"}
        self._state["warm"].append(room)
        return {"ok": True}
