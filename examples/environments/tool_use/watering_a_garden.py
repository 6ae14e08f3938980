import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class WateringAGardenEnv(ToolUseBaseEnv):
    """Smart home, execute: two instructions, one call each."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        one, other = rng.sample(["roses", "beans", "herbs"], 2)
        first, second = rng.randint(2, 9), rng.randint(2, 9)
        self._state = {bed: 0 for bed in ("roses", "beans", "herbs")}
        goal = {**self._state, one: first, other: second}
        self._user_messages = [f"Give the {one} {first} litres.", f"Now give the {other} {second} litres."]
        self._message_criteria = [lambda s: s[one] == first, lambda s: s == goal]
        self._plan = [[("water", {"bed": one, "litres": first})], [("water", {"bed": other, "litres": second})]]
        self._tools = [tool("water", "Water a bed.", ["bed", "litres"], bed=TEXT, litres=WHOLE)]
        return self._user_messages[0], {}

    def tool_water(self, bed, litres):
        if bed not in self._state or litres < 1:
            return {"error": "no such bed, or no water"}
        self._state[bed] += litres
        return {"given": litres}
