import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class LockingADoorEnv(ToolUseBaseEnv):
    """Smart home, execute: choose one of two tools."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        door = rng.choice(["front", "back", "garage", "cellar", "shed", "attic"])
        verb, before = rng.sample(["lock", "open"], 2)
        self._state = {name: before for name in ("front", "back", "garage", "cellar", "shed", "attic")}
        goal = {**self._state, door: verb}
        self._user_messages = [f"Please {verb} the {door} door."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[(f"{verb}_door", {"door": door})]]
        self._tools = [
            tool("lock_door", "Lock a door.", ["door"], door=TEXT),
            tool("open_door", "Open a door.", ["door"], door=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_lock_door(self, door):
        return self._turn(door, "lock")

    def tool_open_door(self, door):
        return self._turn(door, "open")

    def _turn(self, door, to):
        if door not in self._state:
            return {"error": "no such door"}
        self._state[door] = to
        return {"ok": True}
