import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class PricingACartEnv(ToolUseBaseEnv):
    """Shopping cart, missing value: one look-up, one product."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        self._state = {item: [rng.randint(3, 9), rng.randint(11, 99)] for item in ("soap", "rope", "rice")}
        item = rng.choice(list(self._state))
        pieces, price = self._state[item]
        self._expected_answer = pieces * price
        self._plan = [[("read_item", {"item": item})]]
        self._tools = [tool("read_item", "Pieces and price of an item.", ["item"], item=TEXT)]
        return f"What does all the {item} in my cart cost?", {}

    def tool_read_item(self, item):
        if item not in self._state:
            return {"error": "no such item"}
        pieces, price = self._state[item]
        return {"pieces": pieces, "price": price}
