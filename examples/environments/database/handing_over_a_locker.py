import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class HandingOverALockerEnv(SqliteToolEnv):
    _schema = """
    CREATE TABLE pupils (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE lockers (id INTEGER PRIMARY KEY, pupil INTEGER, state TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        pupils = list(zip(rng.sample(range(10, 99), 3), ["Ann", "Bo", "Cy"]))
        lockers = [(n, row[0], "shut") for n, row in zip(rng.sample(range(100, 999), 3), pupils)]
        self._fill({"pupils": pupils, "lockers": lockers})
        n = rng.randrange(3)
        pupil, locker, state = pupils[n], lockers[n], rng.choice(["open", "empty"])
        self._user_messages = [f"Set the state of {pupil[1]}'s locker to {state}."]
        self._message_criteria = [f"SELECT state = '{state}' FROM lockers WHERE id = {locker[0]}"]
        self._expected_changes = {"lockers": {"added": [(*locker[:2], state)], "removed": [locker]}}
        self._plan = [[
            ("find_pupil", {"name": pupil[1]}),
            ("find_locker", {"pupil_id": pupil[0]}),
            ("set_state", {"locker_id": locker[0], "state": state}),
        ]]
        self._tools = [
            tool("find_pupil", "Number of a pupil.", name=TEXT),
            tool("find_locker", "The locker of a pupil.", pupil_id=WHOLE),
            tool("set_state", "Set the state of a locker.", locker_id=WHOLE, state=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_find_pupil(self, name):
        return self.query("SELECT * FROM pupils WHERE name = ?", name)

    def tool_find_locker(self, pupil_id):
        return self.query("SELECT * FROM lockers WHERE pupil = ?", pupil_id)

    def tool_set_state(self, locker_id, state):
        self._state.execute("UPDATE lockers SET state = ? WHERE id = ?", (state, locker_id))
        return self.query("SELECT * FROM lockers WHERE id = ?", locker_id)
