import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class SendingWordEnv(ToolUseBaseEnv):
    """Telecom accounts, execute: choose one of two tools."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        name = rng.choice(["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"])
        kind = rng.choice(["letter", "text"])
        self._state = {"letter": [], "text": []}
        goal = {**self._state, kind: [name]}
        self._user_messages = [f"Send {name} a {kind}."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[(f"send_{kind}", {"name": name})]]
        self._tools = [
            tool("send_letter", "Send a letter.", ["name"], name=TEXT),
            tool("send_text", "Send a text.", ["name"], name=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_send_letter(self, name):
        return self._send("letter", name)

    def tool_send_text(self, name):
        return self._send("text", name)

    def _send(self, kind, name):
        if name not in ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"):
            return {"error": "no such name"}
        self._state[kind].append(name)
        return {"ok": True}
