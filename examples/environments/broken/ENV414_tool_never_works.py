import random


class StockEnv(ToolUseBaseEnv):
    """A storehouse: find shelves, move goods, write labels."""

    max_turns = 12

    def reset(self, seed=None):
        rng = random.Random(seed)
        goods = rng.sample(["bolts", "nails", "hinges", "screws", "hooks"], 4)
        self._state = {
            "shelves": {f"S{rng.randint(100, 999)}": {"good": good, "count": rng.randint(20, 90)} for good in goods},
            "labels": [],
            "orders": [],
        }
        first, second = list(self._state["shelves"])[:2]
        left = self._state["shelves"][first]["count"] - 5
        self._user_messages = [
            f"Take 5 of the {goods[0]} away.",
            f"Label the shelf of the {goods[1]} as 'checked'.",
            f"Order 40 {goods[2]}.",
        ]
        self._message_criteria = [
            lambda s: s["shelves"][first]["count"] == left,
            lambda s: {"shelf_id": second, "text": "checked"} in s["labels"],
            lambda s: {"good": goods[2], "count": 40} in s["orders"],
        ]
        self._plan = [
            [("find_shelf", {"good": goods[0]}), ("take", {"shelf_id": first, "count": 5})],
            [("find_shelf", {"good": goods[1]}), ("label", {"shelf_id": second, "text": "checked"})],
            [("order", {"good": goods[2], "count": 40})],
        ]
        self._tools = [
            {
                "name": "find_shelf",
                "description": "Shelf of a good.",
                "parameters": {"type": "object", "properties": {"good": {"type": "string"}}, "required": ["good"]},
            },
            {
                "name": "take",
                "description": "Take goods away from a shelf.",
                "parameters": {
                    "type": "object",
                    "properties": {"shelf_id": {"type": "string"}, "count": {"type": "integer"}},
                    "required": ["shelf_id", "count"],
                },
            },
            {
                "name": "label",
                "description": "Write a label.",
                "parameters": {
                    "type": "object",
                    "properties": {"shelf_id": {"type": "string"}, "text": {"type": "string"}},
                    "required": ["shelf_id", "text"],
                },
            },
            {
                "name": "order",
                "description": "Order goods.",
                "parameters": {
                    "type": "object",
                    "properties": {"good": {"type": "string"}, "count": {"type": "integer"}},
                    "required": ["good", "count"],
                },
            },
            {
                "name": "count_goods",
                "description": "How many goods there are.",
                "parameters": {"type": "object", "properties": {}, "required": []},
            },
        ]

        return self._user_messages[0], {}

    def tool_find_shelf(self, good):
        found = [shelf for shelf, row in self._state["shelves"].items() if row["good"] == good]
        return {"shelf_id": found[0]} if found else {"error": "no such good"}

    def tool_take(self, shelf_id, count):
        shelf = self._state["shelves"].get(shelf_id)
        if shelf is None or not 0 < count <= shelf["count"]:
            return {"error": "no such shelf, or not that many"}
        shelf["count"] -= count
        return {"left": shelf["count"]}

    def tool_label(self, shelf_id, text):
        if shelf_id not in self._state["shelves"]:
            return {"error": "no such shelf"}
        self._state["labels"].append({"shelf_id": shelf_id, "text": text})
        return {"labelled": shelf_id}

    def tool_order(self, good, count):
        self._state["orders"].append({"good": good, "count": count})
        return {"ordered": count}

    def tool_count_goods(self):
        return {"error": "not available yet"}
