import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


PLAN = {"type": "string", "enum": ["basic", "plus", "max"]}


class TelecomAccountsEnv(ToolUseBaseEnv):
    """Telecom accounts, missing value: the line, the limit and the debt have to be looked up."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = rng.sample(["Lena Frost", "Mark Ito", "Nora Quill", "Otto Beck", "Pia Lunn"], 3)
        accounts = {}
        for name in names:
            lines = {f"{rng.randint(600, 699)}-{rng.randint(1000, 9999)}": self._line(rng) for _ in range(2)}
            accounts[f"A{rng.randint(1000, 9999)}"] = {"owner": name, "balance": -rng.randint(5, 60), "lines": lines}
        me = next(iter(accounts))
        busy, calm = accounts[me]["lines"]
        accounts[me]["lines"][busy]["used_gb"] = accounts[me]["lines"][busy]["limit_gb"] + rng.randint(2, 9)
        debt = -accounts[me]["balance"]
        limit = accounts[me]["lines"][busy]["limit_gb"]
        self._state = {"accounts": accounts}
        self._user_messages = [
            f"{names[0]} here. One of my lines is over its data limit. Put that one on the max plan.",
            "Now pay what I owe, exactly.",
            "And block roaming on my other line.",
        ]
        self._message_criteria = [
            lambda s: s["accounts"][me]["lines"][busy]["plan"] == "max" and s["accounts"][me]["lines"][calm]["plan"] != "max",
            lambda s: s["accounts"][me]["balance"] == 0,
            lambda s: not s["accounts"][me]["lines"][calm]["roaming"] and s["accounts"][me]["lines"][busy]["roaming"],
        ]
        self._plan = [
            [("find_account", {"owner": names[0]}), ("account_details", {"account_id": me}), ("change_plan", {"account_id": me, "line": busy, "plan": "max"})],
            [("pay", {"account_id": me, "amount": debt})],
            [("set_roaming", {"account_id": me, "line": calm, "allowed": False})],
        ]
        self._tools = [
            tool("find_account", "Account number by the owner's name.", ["owner"], owner=TEXT),
            tool("account_details", "Balance (negative when money is owed) and lines.", ["account_id"], account_id=TEXT),
            tool("change_plan", "Put a line on another plan.", ["account_id", "line", "plan"], account_id=TEXT, line=TEXT, plan=PLAN),
            tool("pay", "Pay an amount into an account.", ["account_id", "amount"], account_id=TEXT, amount=WHOLE),
            tool("set_roaming", "Allow or block roaming on a line.", ["account_id", "line", "allowed"], account_id=TEXT, line=TEXT, allowed={"type": "boolean"}),
            tool("coverage", "Network coverage at a postcode.", ["postcode"], postcode=TEXT),
        ]
        return self._user_messages[0], {}

    @staticmethod
    def _line(rng):
        limit = rng.choice([5, 10, 20])
        return {"plan": rng.choice(["basic", "plus"]), "limit_gb": limit, "used_gb": rng.randint(0, limit - 1), "roaming": True}

    def _account(self, account_id):
        if account_id not in self._state["accounts"]:
            raise ValueError("no such account")
        return self._state["accounts"][account_id]

    def _of(self, account_id, line):
        lines = self._account(account_id)["lines"]
        if line not in lines:
            raise ValueError("the account has no such line")
        return lines[line]

    def tool_find_account(self, owner):
        found = [a for a, row in self._state["accounts"].items() if row["owner"].lower() == owner.lower()]
        return {"account_id": found[0]} if found else {"error": "no such owner"}

    def tool_account_details(self, account_id):
        return self._account(account_id)

    def tool_change_plan(self, account_id, line, plan):
        self._of(account_id, line)["plan"] = plan
        return {"line": line, "plan": plan}

    def tool_pay(self, account_id, amount):
        account = self._account(account_id)
        if amount <= 0 or amount > -account["balance"]:
            return {"error": "the amount must be above 0 and at most what is owed"}
        account["balance"] += amount
        return {"balance": account["balance"]}

    def tool_set_roaming(self, account_id, line, allowed):
        self._of(account_id, line)["roaming"] = allowed
        return {"line": line, "roaming": allowed}

    def tool_coverage(self, postcode):
        return {"postcode": postcode, "coverage": "good"}
