import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class SwitchingALampEnv(ToolUseBaseEnv):
    """Smart home, execute: one call."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        room = rng.choice(["hall", "attic", "porch", "cellar", "study"])
        self._state = {room: "off" for room in ("hall", "attic", "porch", "cellar", "study")}
        self._user_messages = [f"Switch the lamp in the {room} on."]
        self._message_criteria = [lambda s: [r for r in s if s[r] == "on"] == [room]]
        self._plan = [[("set_lamp", {"room": room, "to": "on"})]]
        self._tools = [tool("set_lamp", "Switch a lamp.", ["room", "to"], room=TEXT, to={"type": "string", "enum": ["on", "off"]})]
        return self._user_messages[0], {}

    def tool_set_lamp(self, room, to):
        if room not in self._state:
            return {"error": "no such room"}
        self._state[room] = to
        return {room: to}
