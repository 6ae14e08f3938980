import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class WritingAProtectedFileEnv(ToolUseBaseEnv):
    """Files, execute: free a file that refuses to be written."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        file = rng.choice(["plan", "list", "note"])
        text = rng.choice(["milk", "tea", "rice"])
        self._state = {name: "" for name in ("plan", "list", "note")}
        self._protected = {file}
        goal = {**self._state, file: text}
        self._user_messages = [f"Write {text} to the file {file}."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("free", {"file": file}), ("write", {"file": file, "text": text})]]
        self._tools = [
            tool("free", "Take the protection off a file.", ["file"], file=TEXT),
            tool("write", "Write a file.", ["file", "text"], file=TEXT, text=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_free(self, file):
        if file not in self._protected:
            return {"error": "not protected"}
        self._protected.remove(file)
        return {"ok": True}

    def tool_write(self, file, text):
        if file not in self._state or file in self._protected:
            return {"error": "no such file, or it is protected"}
        self._state[file] = text
        return {"ok": True}
