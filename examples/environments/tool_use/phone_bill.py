import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class PhoneBillEnv(ToolUseBaseEnv):
    """Telecom accounts, one task with a short answer: read, filter and add up."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        owners = rng.sample(["Uma Brandt", "Vic Soto", "Wren Abel", "Yara Cole"], 3)
        self._state = {"lines": {}, "calls": {}}
        for owner in owners:
            for _ in range(2):
                line = f"L{rng.randint(1000, 9999)}"
                self._state["lines"][line] = owner
                self._state["calls"][line] = [
                    {"day": rng.randint(1, 30), "kind": rng.choice(["home", "abroad"]), "cents": rng.randint(11, 300)} for _ in range(6)
                ]
        self.owner = rng.choice(owners)
        self._expected_answer = sum(
            call["cents"]
            for line, owner in self._state["lines"].items()
            if owner == self.owner
            for call in self._state["calls"][line]
            if call["kind"] == "abroad"
        )
        self._tools = [
            tool("find_lines", "Lines of an owner.", ["owner"], owner=TEXT),
            tool("list_calls", "Calls of a line, by kind if given.", ["line"], line=TEXT, kind={"type": "string", "enum": ["home", "abroad"]}),
            tool("tariff", "Price of a minute by kind.", ["kind"], kind={"type": "string", "enum": ["home", "abroad"]}),
        ]
        return f"What do the calls abroad on all lines of {self.owner} cost together, in cents? Answer with the number.", {}

    def tool_find_lines(self, owner):
        return [line for line, name in self._state["lines"].items() if name == owner] or {"error": "no such owner"}

    def tool_list_calls(self, line, kind=None):
        if line not in self._state["calls"]:
            return {"error": "no such line"}
        return [call for call in self._state["calls"][line] if kind in (None, call["kind"])]

    def tool_tariff(self, kind):
        return {"kind": kind, "cents": 9 if kind == "home" else 29}
