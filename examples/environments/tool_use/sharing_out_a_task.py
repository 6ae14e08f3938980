import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class SharingOutATaskEnv(ToolUseBaseEnv):
    """Project tracker, read-then-write: find who has the least, then give."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        self._state = dict(zip(("Ada", "Ben", "Cleo", "Dan"), rng.sample(range(1, 30), 4)))
        least = min(self._state, key=self._state.get)
        goal = {**self._state, least: self._state[least] + 1}
        self._user_messages = ["Give the new task to whoever has the fewest."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("tasks", {}), ("give_task", {"name": least})]]
        self._tools = [
            tool("tasks", "How many tasks everybody has."),
            tool("give_task", "Give a new task to a person.", ["name"], name=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_tasks(self):
        return dict(self._state)

    def tool_give_task(self, name):
        if name not in self._state:
            return {"error": "no such name"}
        self._state[name] += 1
        return {"ok": True}
