import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class TuningAPianoEnv(SqliteToolEnv):
    _schema = """
    CREATE TABLE halls (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE pianos (id INTEGER PRIMARY KEY, hall INTEGER, pitch TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        halls = list(zip(rng.sample(range(10, 99), 3), ["Opal", "Jade", "Ruby"]))
        pianos = [(n, row[0], "low") for n, row in zip(rng.sample(range(100, 999), 3), halls)]
        self._fill({"halls": halls, "pianos": pianos})
        n = rng.randrange(3)
        hall, piano, pitch = halls[n], pianos[n], rng.choice(["high", "even"])
        self._user_messages = [f"The players in {hall[1]} want a pitch that is {pitch}."]
        self._message_criteria = [f"SELECT pitch = '{pitch}' FROM pianos WHERE id = {piano[0]}"]
        self._expected_changes = {"pianos": {"added": [(*piano[:2], pitch)], "removed": [piano]}}
        self._plan = [[
            ("find_hall", {"name": hall[1]}),
            ("find_piano", {"hall_id": hall[0]}),
            ("set_pitch", {"piano_id": piano[0], "pitch": pitch}),
        ]]
        self._tools = [
            tool("find_hall", "Number of a hall.", name=TEXT),
            tool("find_piano", "The piano of a hall.", hall_id=WHOLE),
            tool("set_pitch", "Set the pitch of a piano.", piano_id=WHOLE, pitch=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_find_hall(self, name):
        return self.query("SELECT * FROM halls WHERE name = ?", name)

    def tool_find_piano(self, hall_id):
        return self.query("SELECT * FROM pianos WHERE hall = ?", hall_id)

    def tool_set_pitch(self, piano_id, pitch):
        self._state.execute("UPDATE pianos SET pitch = ? WHERE id = ?", (pitch, piano_id))
        return self.query("SELECT * FROM pianos WHERE id = ?", piano_id)
