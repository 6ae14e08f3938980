import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class CallingAFriendEnv(ToolUseBaseEnv):
    """Telecom accounts, missing value: look up, then dial."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        name = rng.choice(["Ada", "Ben", "Cleo"])
        self._numbers = dict(zip(("Ada", "Ben", "Cleo"), rng.sample(range(1000, 9999), 3)))
        self._state = {"dialled": []}
        number = self._numbers[name]
        self._user_messages = [f"Call {name}."]
        self._message_criteria = [lambda s: s["dialled"] == [number]]
        self._plan = [[("look_up", {"name": name}), ("dial", {"number": number})]]
        self._tools = [
            tool("look_up", "Number of a person.", ["name"], name=TEXT),
            tool("dial", "Dial a number.", ["number"], number=WHOLE),
        ]
        return self._user_messages[0], {}

    def tool_look_up(self, name):
        return {"number": self._numbers[name]} if name in self._numbers else {"error": "no such name"}

    def tool_dial(self, number):
        if number not in self._numbers.values():
            return {"error": "no such number"}
        self._state["dialled"].append(number)
        return {"ok": True}
