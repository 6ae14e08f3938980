import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class CountingTheWordsOfAFileEnv(ToolUseBaseEnv):
    """Files, missing value: two look-ups, one sum."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        self._state = {file: rng.randint(100, 900) for file in ("letter", "report", "diary", "poem")}
        one, other = rng.sample(list(self._state), 2)
        self._expected_answer = self._state[one] + self._state[other]
        self._plan = [[("count_words", {"file": one}), ("count_words", {"file": other})]]
        self._tools = [tool("count_words", "How many words a file has.", ["file"], file=TEXT)]
        return f"How many words do the {one} and the {other} have together?", {}

    def tool_count_words(self, file):
        return {"words": self._state[file]} if file in self._state else {"error": "no such file"}
