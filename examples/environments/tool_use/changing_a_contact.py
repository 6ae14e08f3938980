import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class ChangingAContactEnv(ToolUseBaseEnv):
    """Telecom accounts, execute: one call."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        name = rng.choice(["Ada", "Ben", "Cleo"])
        number = rng.randint(5000, 9999)
        self._state = {one: rng.randint(1000, 4999) for one in ("Ada", "Ben", "Cleo")}
        goal = {**self._state, name: number}
        self._user_messages = [f"{name} has a new number: {number}. Change it in my list."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("change", {"name": name, "number": number})]]
        self._tools = [tool("change", "Change a number.", ["name", "number"], name=TEXT, number=WHOLE)]
        return self._user_messages[0], {}

    def tool_change(self, name, number):
        if name not in self._state or number < 1000:
            return {"error": "no such name, or the number is too short"}
        self._state[name] = number
        return {name: number}
