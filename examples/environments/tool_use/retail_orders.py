import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}

STATUS = {"type": "string", "enum": ["processing", "shipped", "delivered", "cancelled"]}


class RetailOrdersEnv(ToolUseBaseEnv):
    """Retail orders, read-then-write: what to change has to be looked up first."""

    def __init__(self, max_turns=16):
        super().__init__(max_turns)

    def reset(self, seed=None):
        rng = random.Random(seed)
        people = rng.sample(["Ada Moore", "Ben Okoye", "Cora Diaz", "Dev Patel", "Eva Lind", "Finn Kelly"], 3)
        customers = {f"C{rng.randint(100, 999)}{i}": {"name": name} for i, name in enumerate(people)}
        orders = {}
        for customer in customers:
            for _ in range(3):
                order_id = f"W{rng.randint(10000, 99999)}"
                orders[order_id] = {
                    "customer_id": customer,
                    "item": rng.choice(["desk lamp", "backpack", "teapot", "notebook", "headphones"]),
                    "total": rng.randint(8, 90),
                    "status": "delivered",
                    "address": rng.choice(["4 Elm Row", "17 Mill Lane", "9 Harbour Street"]),
                }
        ids = list(customers)
        mine = [order for order, row in orders.items() if row["customer_id"] == ids[0]]
        open_order, late_order = mine[0], mine[1]
        orders[open_order]["status"] = "processing"
        orders[late_order]["status"] = "shipped"
        for order, row in orders.items():
            if row["customer_id"] == ids[1]:
                row["status"] = "processing"
        other = max((o for o, row in orders.items() if row["customer_id"] == ids[1]), key=lambda o: (orders[o]["total"], o))
        address = f"{rng.randint(10, 99)} Station Road"
        self._state = {"customers": customers, "orders": orders, "refunds": {}}
        self._user_messages = [
            f"Hello, I am {people[0]}. Please cancel the order of mine that is still processing.",
            "My shipped order never came. Refund it, please, the whole amount.",
            f"Now for {people[1]}: send the most expensive of those orders to {address} instead.",
        ]
        self._message_criteria = [
            lambda s: s["orders"][open_order]["status"] == "cancelled",
            lambda s: s["refunds"].get(late_order) == s["orders"][late_order]["total"] and len(s["refunds"]) == 1,
            lambda s: s["orders"][other]["address"] == address,
        ]
        total = orders[late_order]["total"]
        self._plan = [
            [("find_customer", {"name": people[0]}), ("list_orders", {"customer_id": ids[0]}), ("cancel_order", {"order_id": open_order})],
            [("refund_order", {"order_id": late_order, "amount": total})],
            [("find_customer", {"name": people[1]}), ("list_orders", {"customer_id": ids[1]}), ("change_address", {"order_id": other, "address": address})],
        ]
        self._tools = [
            tool("find_customer", "Customer id by full name.", ["name"], name=TEXT),
            tool("list_orders", "All orders of a customer, by status if given.", ["customer_id"], customer_id=TEXT, status=STATUS),
            tool("cancel_order", "Cancel an order that is processing.", ["order_id"], order_id=TEXT),
            tool("refund_order", "Pay back part or all of a shipped or delivered order.", ["order_id", "amount"], order_id=TEXT, amount=WHOLE),
            tool("change_address", "Send a processing order elsewhere.", ["order_id", "address"], order_id=TEXT, address=TEXT),
            tool("shop_hours", "Opening hours of the shop."),
        ]
        return self._user_messages[0], {}

    def _order(self, order_id, *statuses):
        order = self._state["orders"].get(order_id)
        if order is None:
            raise ValueError("no such order")
        if order["status"] not in statuses:
            raise ValueError(f"the order is {order['status']}")
        return order

    def tool_find_customer(self, name):
        for customer_id, row in self._state["customers"].items():
            if row["name"].lower() == name.strip().lower():
                return {"customer_id": customer_id}
        return {"error": "no such customer"}

    def tool_list_orders(self, customer_id, status=None):
        if customer_id not in self._state["customers"]:
            return {"error": "no such customer"}
        orders = self._state["orders"].items()
        return [{"order_id": o, **row} for o, row in orders if row["customer_id"] == customer_id and status in (None, row["status"])]

    def tool_cancel_order(self, order_id):
        self._order(order_id, "processing")["status"] = "cancelled"
        return {"order_id": order_id, "status": "cancelled"}

    def tool_refund_order(self, order_id, amount):
        order = self._order(order_id, "shipped", "delivered")
        if not 0 < amount <= order["total"] - self._state["refunds"].get(order_id, 0):
            return {"error": "that is more than was paid"}
        self._state["refunds"][order_id] = self._state["refunds"].get(order_id, 0) + amount
        return {"order_id": order_id, "refunded": amount}

    def tool_change_address(self, order_id, address):
        self._order(order_id, "processing")["address"] = address
        return {"order_id": order_id, "address": address}

    def tool_shop_hours(self):
        return {"hours": "9 to 18, Monday to Saturday"}
