import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class FilesEnv(ToolUseBaseEnv):
    """Files, missing value: where a file lies, and what stands in it, has to be looked up."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        projects = rng.sample(["atlas", "birch", "comet", "delta", "ember"], 3)
        files = {}
        for project in projects:
            files[f"/{project}/notes.txt"] = rng.choice(["call the mill", "order new tiles", "fix the gate"])
            files[f"/{project}/config.ini"] = f"port={rng.randint(3000, 9000)}"
            files[f"/{project}/old/draft.txt"] = rng.choice(["first draft", "second draft"])
        key = f"token-{rng.randint(100000, 999999)}"
        home = rng.choice(projects)
        files[f"/{home}/old/key.txt"] = key
        other = next(p for p in projects if p != home)
        port = files[f"/{other}/config.ini"].split("=")[1]
        self._state = {"files": files}
        self._user_messages = [
            "Somewhere there is a file key.txt. Copy what it holds into /keys.txt.",
            f"Write the port of project {other} into /port.txt, the number alone.",
            f"Delete the old draft of {other}.",
        ]
        draft = f"/{other}/old/draft.txt"
        self._message_criteria = [
            lambda s: s["files"].get("/keys.txt") == key,
            lambda s: s["files"].get("/port.txt") == port,
            lambda s: draft not in s["files"] and len([p for p in s["files"] if p.endswith("draft.txt")]) == 2,
        ]
        self._plan = [
            [("find", {"name": "key.txt"}), ("read", {"path": f"/{home}/old/key.txt"}), ("write", {"path": "/keys.txt", "text": key})],
            [("read", {"path": f"/{other}/config.ini"}), ("write", {"path": "/port.txt", "text": port})],
            [("delete", {"path": draft, "mode": "file"})],
        ]
        self._tools = [
            tool("list", "Paths below a folder.", ["folder"], folder=TEXT),
            tool("find", "Paths of all files of a name.", ["name"], name=TEXT),
            tool("read", "Text of a file.", ["path"], path=TEXT),
            tool("write", "Create or overwrite a file.", ["path", "text"], path=TEXT, text=TEXT),
            tool("delete", "Delete a file, or a folder with all below it.", ["path", "mode"], path=TEXT, mode={"type": "string", "enum": ["file", "folder"]}),
            tool("disk_usage", "Characters in use."),
        ]
        return self._user_messages[0] + f" The projects are {', '.join(projects)}; each has /NAME/config.ini and /NAME/old/draft.txt.", {}

    def tool_list(self, folder):
        found = [p for p in self._state["files"] if p.startswith(folder.rstrip("/") + "/")]
        return found or {"error": "no such folder"}

    def tool_find(self, name):
        return [p for p in self._state["files"] if p.rsplit("/", 1)[1] == name]

    def tool_read(self, path):
        return {"text": self._state["files"][path]} if path in self._state["files"] else {"error": "no such file"}

    def tool_write(self, path, text):
        if not path.startswith("/") or path.endswith("/"):
            return {"error": "a path starts with / and names a file"}
        self._state["files"][path] = text
        return {"written": len(text)}

    def tool_delete(self, path, mode):
        gone = [p for p in self._state["files"] if p == path or (mode == "folder" and p.startswith(path.rstrip("/") + "/"))]
        if not gone:
            return {"error": "nothing there"}
        for p in gone:
            del self._state["files"][p]
        return {"deleted": gone}

    def tool_disk_usage(self):
        return {"characters": sum(map(len, self._state["files"].values()))}
