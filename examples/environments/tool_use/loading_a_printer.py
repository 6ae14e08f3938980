import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class LoadingAPrinterEnv(ToolUseBaseEnv):
    """Files, execute: load paper when a print is refused."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        pages = rng.randint(20, 45)
        self._state = {"paper": rng.randint(1, 15), "printed": 0}
        self._user_messages = [f"Print {pages} pages."]
        self._message_criteria = [lambda s: s["printed"] == pages]
        self._plan = [[("print_pages", {"pages": pages}), ("load", {}), ("print_pages", {"pages": pages})]]
        self._tools = [
            tool("print_pages", "Print pages.", ["pages"], pages=WHOLE),
            tool("load", "Load a pack of paper."),
        ]
        return self._user_messages[0], {}

    def tool_print_pages(self, pages):
        if not 1 <= pages <= self._state["paper"]:
            return {"error": "not enough paper"}
        self._state["paper"] -= pages
        self._state["printed"] += pages
        return {"ok": True}

    def tool_load(self):
        self._state["paper"] += 50
        return {"ok": True}
