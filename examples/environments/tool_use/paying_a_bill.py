import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class PayingABillEnv(ToolUseBaseEnv):
    """Banking, missing value: read, then pay."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        bill = rng.choice(["water", "power", "rent"])
        self._state = {name: rng.randint(100, 900) for name in ("water", "power", "rent")}
        goal = {**self._state, bill: 0}
        self._user_messages = [f"Pay the {bill} bill."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("read_bill", {"bill": bill}), ("pay", {"bill": bill, "amount": self._state[bill]})]]
        self._tools = [
            tool("read_bill", "Amount of a bill.", ["bill"], bill=TEXT),
            tool("pay", "Pay a bill in full.", ["bill", "amount"], bill=TEXT, amount=WHOLE),
        ]
        return self._user_messages[0], {}

    def tool_read_bill(self, bill):
        return {"amount": self._state[bill]} if bill in self._state else {"error": "no such bill"}

    def tool_pay(self, bill, amount):
        if amount < 1 or amount != self._state.get(bill):
            return {"error": "no such bill, or not its amount"}
        self._state[bill] = 0
        return {"ok": True}
