import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class TopUpAShelfEnv(ToolUseBaseEnv):
    """Shopping, read-then-write: count what is there, then order what is missing."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        item = rng.choice(["apples", "pens", "cups"])
        goal = rng.randint(60, 99)
        self._state = {name: rng.randint(10, 50) for name in ("apples", "pens", "cups")}
        self._user_messages = [f"There should be {goal} {item} on the shelf. Order what is missing."]
        self._message_criteria = [lambda s: s[item] == goal]
        missing = goal - self._state[item]
        self._plan = [[("count", {"item": item}), ("order", {"item": item, "amount": missing})]]
        self._tools = [
            tool("count", "How many of an item are on the shelf.", ["item"], item=TEXT),
            tool("order", "Put more of an item on the shelf.", ["item", "amount"], item=TEXT, amount=WHOLE),
        ]
        return self._user_messages[0], {}

    def tool_count(self, item):
        return {"count": self._state[item]} if item in self._state else {"error": "no such item"}

    def tool_order(self, item, amount):
        if item not in self._state or amount < 1:
            return {"error": "no such item, or nothing to order"}
        self._state[item] += amount
        return {"ordered": amount}
