import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class RingingUpATillEnv(ToolUseBaseEnv):
    """Shopping cart, execute: two instructions, one call each."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        one, other = rng.sample(["pens", "cups", "soaps", "candles"], 2)
        few, many = rng.randint(1, 4), rng.randint(5, 9)
        self._state = {name: 0 for name in ("pens", "cups", "soaps", "candles")}
        goal = {**self._state, one: few, other: many}
        self._user_messages = [f"Ring up {few} {one}.", f"And {many} {other}."]
        self._message_criteria = [lambda s: s[one] == few, lambda s: s == goal]
        self._plan = [[("ring_up", {"item": one, "amount": few})], [("ring_up", {"item": other, "amount": many})]]
        self._tools = [tool("ring_up", "Ring up an item.", ["item", "amount"], item=TEXT, amount=WHOLE)]
        return self._user_messages[0], {}

    def tool_ring_up(self, item, amount):
        if item not in self._state or amount < 1:
            return {"error": "no such item, or nothing to ring up"}
        self._state[item] += amount
        return {"rung": amount}
