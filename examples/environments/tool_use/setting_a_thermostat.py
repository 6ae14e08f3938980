import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class SettingAThermostatEnv(ToolUseBaseEnv):
    """Smart home, execute: one call."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        room = rng.choice(["kitchen", "bedroom", "office"])
        degrees = rng.randint(18, 25)
        self._state = {room: 16 for room in ("kitchen", "bedroom", "office")}
        self._user_messages = [f"Set the {room} to {degrees} degrees."]
        goal = {**self._state, room: degrees}
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("set_heat", {"room": room, "degrees": degrees})]]
        self._tools = [tool("set_heat", "Set a thermostat.", ["room", "degrees"], room=TEXT, degrees=WHOLE)]
        return self._user_messages[0], {}

    def tool_set_heat(self, room, degrees):
        if room not in self._state or not 5 <= degrees <= 30:
            return {"error": "no such room, or not 5 to 30 degrees"}
        self._state[room] = degrees
        return {room: degrees}
