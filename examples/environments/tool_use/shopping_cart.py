import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class ShoppingCartEnv(ToolUseBaseEnv):
    """Shopping cart, execute, with partial credit: a share of the instructions pays its share."""

    partial_credit = True

    def reset(self, seed=None):
        rng = random.Random(seed)
        goods = rng.sample(["apple juice", "oat milk", "rye bread", "green tea", "sea salt", "olive oil"], 5)
        stock = {f"S{rng.randint(100, 999)}{i}": {"name": g, "price": rng.randint(2, 9), "left": rng.randint(4, 9)} for i, g in enumerate(goods)}
        ids = list(stock)
        amount, fewer = rng.randint(2, 4), 1
        code = rng.choice(["SPRING", "SUNNY", "THANKS"])
        ship = rng.choice(["express", "pickup"])
        self._state = {"stock": stock, "cart": {ids[1]: 3}, "coupon": None, "shipping": "standard"}
        self._user_messages = [
            f"Put {amount} of the {goods[0]} into my cart.",
            f"I only want {fewer} of the {goods[1]} after all.",
            f"Use the coupon {code} and choose {ship} shipping.",
        ]
        self._message_criteria = [
            lambda s: s["cart"].get(ids[0]) == amount,
            lambda s: s["cart"].get(ids[1]) == fewer,
            lambda s: s["coupon"] == code and s["shipping"] == ship,
        ]
        self._plan = [
            [("search", {"text": goods[0]}), ("set_amount", {"item_id": ids[0], "amount": amount})],
            [("search", {"text": goods[1]}), ("set_amount", {"item_id": ids[1], "amount": fewer})],
            [("apply_coupon", {"code": code}), ("set_shipping", {"kind": ship})],
        ]
        self._tools = [
            tool("search", "Items whose name holds a text.", ["text"], text=TEXT),
            tool("show_cart", "What is in the cart."),
            tool("set_amount", "How many of an item are in the cart; 0 removes it.", ["item_id", "amount"], item_id=TEXT, amount=WHOLE),
            tool("apply_coupon", "Use a coupon.", ["code"], code=TEXT),
            tool("set_shipping", "Choose the shipping.", ["kind"], kind={"type": "string", "enum": ["standard", "express", "pickup"]}),
            tool("gift_wrap", "What gift wrapping costs."),
        ]
        return self._user_messages[0], {}

    def tool_search(self, text):
        return [{"item_id": i, **row} for i, row in self._state["stock"].items() if text.lower() in row["name"]]

    def tool_show_cart(self):
        return {"cart": self._state["cart"], "coupon": self._state["coupon"], "shipping": self._state["shipping"]}

    def tool_set_amount(self, item_id, amount):
        item = self._state["stock"].get(item_id)
        if item is None or not 0 <= amount <= item["left"]:
            return {"error": "no such item, or not that many"}
        self._state["cart"][item_id] = amount
        if not amount:
            del self._state["cart"][item_id]
        return {"item_id": item_id, "amount": amount}

    def tool_apply_coupon(self, code):
        if code not in ("SPRING", "SUNNY", "THANKS"):
            return {"error": "no such coupon"}
        self._state["coupon"] = code
        return {"coupon": code}

    def tool_set_shipping(self, kind):
        self._state["shipping"] = kind
        return {"shipping": kind}

    def tool_gift_wrap(self):
        return {"price": 3}
