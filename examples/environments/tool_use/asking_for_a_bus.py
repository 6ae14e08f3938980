import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class AskingForABusEnv(ToolUseBaseEnv):
    """Travel booking, missing value: one look-up, one answer."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        self._state = {line: f"{rng.randint(10, 23)}:{rng.randint(10, 59)}" for line in ("red", "blue", "green")}
        line = rng.choice(list(self._state))
        self._expected_answer = self._state[line]
        self._plan = [[("next_bus", {"line": line})]]
        self._tools = [tool("next_bus", "When the next bus of a line leaves.", ["line"], line=TEXT)]
        return f"When does the next bus of the {line} line leave?", {}

    def tool_next_bus(self, line):
        return {"leaves": self._state[line]} if line in self._state else {"error": "no such line"}
