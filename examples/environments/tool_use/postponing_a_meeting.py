import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class PostponingAMeetingEnv(ToolUseBaseEnv):
    """Calendar, read-then-write: read the hour, then set a later one."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        name = rng.choice(["lunch", "review", "choir"])
        later = rng.randint(2, 5)
        self._state = {meeting: rng.randint(8, 17) for meeting in ("lunch", "review", "choir")}
        goal = {**self._state, name: self._state[name] + later}
        self._user_messages = [f"Postpone the {name} by {later} hours."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("hour", {"meeting": name}), ("set_hour", {"meeting": name, "hour": goal[name]})]]
        self._tools = [
            tool("hour", "Hour of a meeting.", ["meeting"], meeting=TEXT),
            tool("set_hour", "Set the hour.", ["meeting", "hour"], meeting=TEXT, hour=WHOLE),
        ]
        return self._user_messages[0], {}

    def tool_hour(self, meeting):
        return {"hour": self._state[meeting]} if meeting in self._state else {"error": "no such meeting"}

    def tool_set_hour(self, meeting, hour):
        if meeting not in self._state or not 8 <= hour <= 23:
            return {"error": "no such meeting, or not 8 to 23"}
        self._state[meeting] = hour
        return {meeting: hour}
