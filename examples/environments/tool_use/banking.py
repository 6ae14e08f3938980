import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


REASON = {"type": "string", "enum": ["lost", "stolen", "damaged"]}


class BankingEnv(ToolUseBaseEnv):
    """Banking, read-then-write with an irrelevant request: what no tool can do is answered without a call."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        own = [f"K{rng.randint(10000, 99999)}" for _ in range(3)]
        kinds = ["checking", "savings", "travel"]
        accounts = {a: {"kind": k, "balance": rng.randint(200, 900)} for a, k in zip(own, kinds)}
        cards = {f"V{rng.randint(1000, 9999)}": {"account_id": a, "status": "active", "reason": None} for a in own[:2]}
        payees = {rng.choice(["Ruth Hale", "Sven Dahl", "Tara Nunn"]): f"X{rng.randint(10000, 99999)}"}
        payee, target = next(iter(payees.items()))
        share = accounts[own[1]]["balance"] // 2
        lost = next(iter(cards))
        reason = rng.choice(["lost", "stolen"])
        amount = rng.randint(20, 150)
        self._state = {"accounts": accounts, "cards": cards, "payees": payees, "transfers": []}
        unasked = rng.choice(["Tell me tomorrow's exchange rate.", "Move my mortgage to another bank.", "Change my date of birth."])
        self._user_messages = [
            "Move half of what is on my savings account, rounded down, to my travel account.",
            unasked,
            f"The card of my checking account was {reason}. Block it for that reason.",
            f"Send {amount} from checking to {payee}, who is among my payees.",
        ]
        moved = {"source": own[1], "target": own[2], "amount": share}
        sent = {"source": own[0], "target": target, "amount": amount}
        self._message_criteria = [
            lambda s: s["transfers"][:1] == [moved],
            lambda s: s["transfers"] in ([moved], [moved, sent]),
            lambda s: s["cards"][lost] == {"account_id": own[0], "status": "blocked", "reason": reason},
            lambda s: s["transfers"][1:] == [sent],
        ]
        self._plan = [
            [("list_accounts", {}), ("transfer", moved)],
            [],
            [("list_cards", {"account_id": own[0]}), ("block_card", {"card_id": lost, "reason": reason})],
            [("find_payee", {"name": payee}), ("transfer", sent)],
        ]
        self._tools = [
            tool("list_accounts", "The customer's accounts with their balances."),
            tool("transfer", "Move money between accounts.", ["source", "target", "amount"], source=TEXT, target=TEXT, amount=WHOLE),
            tool("list_cards", "Cards of an account.", ["account_id"], account_id=TEXT),
            tool("block_card", "Block a card.", ["card_id", "reason"], card_id=TEXT, reason=REASON),
            tool("find_payee", "Account of a payee.", ["name"], name=TEXT),
            tool("branch_hours", "Opening hours of a branch.", ["city"], city=TEXT),
        ]
        return self._user_messages[0] + " (If something cannot be done with the tools, answer without calling any.)", {}

    def tool_list_accounts(self):
        return [{"account_id": a, **row} for a, row in self._state["accounts"].items()]

    def tool_transfer(self, source, target, amount):
        accounts = self._state["accounts"]
        if source not in accounts or (target not in accounts and target not in self._state["payees"].values()):
            return {"error": "no such account"}
        if not 0 < amount <= accounts[source]["balance"]:
            return {"error": "the balance does not cover that"}
        accounts[source]["balance"] -= amount
        if target in accounts:
            accounts[target]["balance"] += amount
        self._state["transfers"].append({"source": source, "target": target, "amount": amount})
        return {"transferred": amount}

    def tool_list_cards(self, account_id):
        if account_id not in self._state["accounts"]:
            return {"error": "no such account"}
        return [{"card_id": c, **row} for c, row in self._state["cards"].items() if row["account_id"] == account_id]

    def tool_block_card(self, card_id, reason):
        card = self._state["cards"].get(card_id)
        if card is None or card["status"] != "active":
            return {"error": "no such active card"}
        card["status"], card["reason"] = "blocked", reason
        return {"card_id": card_id, "status": "blocked"}

    def tool_find_payee(self, name):
        account = self._state["payees"].get(name)
        return {"account_id": account} if account else {"error": "no such payee"}

    def tool_branch_hours(self, city):
        return {"city": city, "hours": "9 to 16"}
