import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class FindingAParcelEnv(ToolUseBaseEnv):
    """Retail orders, missing value: from the order to the parcel to the shelf."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        orders, parcels = rng.sample(range(100, 200), 3), rng.sample(range(200, 300), 3)
        self._state = dict(zip(orders, parcels))
        self._shelves = dict(zip(parcels, rng.sample(range(300, 900), 3)))
        order = rng.choice(orders)
        parcel = self._state[order]
        self._expected_answer = self._shelves[parcel]
        self._plan = [[("parcel_of", {"order": order}), ("shelf_of", {"parcel": parcel})]]
        self._tools = [
            tool("parcel_of", "Parcel of an order.", ["order"], order=WHOLE),
            tool("shelf_of", "Shelf of a parcel.", ["parcel"], parcel=WHOLE),
        ]
        return f"On which shelf lies order {order}?", {}

    def tool_parcel_of(self, order):
        return {"parcel": self._state[order]} if order in self._state else {"error": "no such order"}

    def tool_shelf_of(self, parcel):
        return {"shelf": self._shelves[parcel]} if parcel in self._shelves else {"error": "no such parcel"}
