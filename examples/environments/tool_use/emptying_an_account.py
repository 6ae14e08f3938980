import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class EmptyingAnAccountEnv(ToolUseBaseEnv):
    """Banking, read-then-write: read, then move."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        one, other = rng.sample(["home", "trip", "gift"], 2)
        self._state = {name: rng.randint(100, 900) for name in ("home", "trip", "gift")}
        amount = self._state[one]
        goal = {**self._state, one: 0, other: amount + self._state[other]}
        self._user_messages = [f"Move all money from {one} to {other}."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("balance", {"of": one}), ("move", {"source": one, "to": other, "amount": amount})]]
        self._tools = [
            tool("balance", "Coins in it.", ["of"], of=TEXT),
            tool("move", "Move coins.", ["source", "to", "amount"], source=TEXT, to=TEXT, amount=WHOLE),
        ]
        return self._user_messages[0], {}

    def tool_balance(self, of):
        return {"balance": self._state[of]} if of in self._state else {"error": "no such account"}

    def tool_move(self, source, to, amount):
        if to not in self._state or not 1 <= amount <= self._state.get(source, 0):
            return {"error": "no such account, or too few coins"}
        self._state[source] -= amount
        self._state[to] += amount
        return {"moved": amount}
