import random

WHOLE = {"type": "integer"}


def tool(name, description, required, properties):
    schema = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


class NewEnv(SqliteToolEnv):
    """Cancel an order in a database. Replace this by one sentence that says what is asked for."""

    _schema = "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, status TEXT NOT NULL)"

    def reset(self, seed=None):
        rng = random.Random(seed)
        items = rng.sample(["lamp", "kettle", "chair", "clock", "radio"], 4)
        numbers = rng.sample(range(100, 1000), 4)
        self._fill({"orders": [(number, item, "open") for number, item in zip(numbers, items)]})
        number, item = numbers[0], items[0]
        self._user_messages = [f"Please cancel my order of the {item}."]
        # SQL whose first value is true once the message is served.
        self._message_criteria = [f"SELECT status = 'cancelled' FROM orders WHERE id = {number}"]
        # The calls that an oracle makes for each message.
        self._plan = [[("cancel_order", {"id": number})]]
        self._tools = [
            tool("list_orders", "List all orders.", [], {}),
            tool("cancel_order", "Cancel an order.", ["id"], {"id": WHOLE}),
        ]
        return self._user_messages[0], {}

    def tool_list_orders(self):
        rows = self._state.execute("SELECT id, item, status FROM orders ORDER BY id").fetchall()
        return {"orders": [list(row) for row in rows]}

    def tool_cancel_order(self, id):
        changed = self._state.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", (id,)).rowcount
        return {"cancelled": id} if changed else {"error": "there is no such order"}
