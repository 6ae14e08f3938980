import random

TEXT = {"type": "string"}


def tool(name, description, required, properties):
    schema = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


class NewEnv(ToolUseBaseEnv):
    """Move an item to another shelf. Replace this by one sentence that says what is asked for."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        items = ["lamp", "kettle", "chair", "clock", "radio"]
        shelves = ["north", "south", "east", "west"]
        # The state is what tools read and change.
        self._state = {item: rng.choice(shelves) for item in items}
        item = rng.choice(items)
        shelf = rng.choice([one for one in shelves if one != self._state[item]])
        goal = {**self._state, item: shelf}
        # One criterion a message of the user: whether the state is as it should be then.
        self._user_messages = [f"Please move the {item} to the {shelf} shelf."]
        self._message_criteria = [lambda state: state == goal]
        # The calls that an oracle makes for each message. They show the checker that the task can be done.
        self._plan = [[("move_item", {"item": item, "shelf": shelf})]]
        self._tools = [
            tool("find_item", "Say on which shelf an item lies.", ["item"], {"item": TEXT}),
            tool("move_item", "Move an item to a shelf.", ["item", "shelf"], {"item": TEXT, "shelf": TEXT}),
        ]
        return self._user_messages[0], {}

    def tool_find_item(self, item):
        if item not in self._state:
            return {"error": "there is no such item"}
        return {"shelf": self._state[item]}

    def tool_move_item(self, item, shelf):
        if item not in self._state:
            return {"error": "there is no such item"}
        if shelf not in ("north", "south", "east", "west"):
            return {"error": "there is no such shelf"}
        self._state[item] = shelf
        return {"moved": item, "to": shelf}
