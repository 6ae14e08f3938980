import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
CITIES = "Ghent Lyon Turin Porto Graz Bergen Cork Split".split()
THINGS = "amber comb,bronze mirror,painted fan,glass heron,clay horse,silver thimble,ivory die,wool banner".split(",")
ROOMS = ["East Hall", "West Hall", "Rotunda", "Depot"]


class MuseumLoansEnv(SqliteToolEnv):
    """A museum, distractor tools: lending, giving, moving and storing an object are four different things."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE rooms (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE objects (id INTEGER PRIMARY KEY, title TEXT, year INTEGER, room INTEGER REFERENCES rooms (id),
                          state TEXT);
    CREATE TABLE museums (id INTEGER PRIMARY KEY, city TEXT, insured INTEGER);
    CREATE TABLE reports (object INTEGER PRIMARY KEY REFERENCES objects (id), finding TEXT);
    CREATE TABLE loans (object INTEGER PRIMARY KEY REFERENCES objects (id), museum INTEGER REFERENCES museums (id),
                        until INTEGER);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        rooms = [(n, name) for n, name in zip(rng.sample(range(1, 30), 4), ROOMS)]
        museums = [(n, city, rng.randint(100, 900)) for n, city in zip(rng.sample(range(100, 999), 8), CITIES)]
        numbers, years = rng.sample(range(1000, 9999), 32), rng.sample(range(900, 1900), 32)
        objects = [
            (n, THINGS[i % 8], year, rng.choice(rooms)[0], "shown") for i, (n, year) in enumerate(zip(numbers, years))
        ]
        reports = [(row[0], "sound") for row in objects[8:16]]
        loans = [(row[0], rng.choice(museums)[0], rng.randint(2027, 2029)) for row in objects[8:12]]
        for i in range(8, 12):
            objects[i] = (*objects[i][:4], "lent")
        self._fill({"rooms": rooms, "objects": objects, "museums": museums, "reports": reports, "loans": loans})
        museum, until = rng.choice(museums), rng.randint(2027, 2031)
        thing = rng.choice(objects[:8])
        finding = rng.choice(["sound", "fragile"])
        self._user_messages = [
            f"The museum in {museum[1]} gets our {thing[1]} of {thing[2]} until {until} and then sends it back. The "
            f"restorer finds it {finding}: file that first, as no object travels without a report."
        ]
        self._message_criteria = [
            f"SELECT finding = '{finding}' FROM reports WHERE object = {thing[0]}",
            f"SELECT museum = {museum[0]} AND until = {until} FROM loans WHERE object = {thing[0]}",
            f"SELECT state = 'lent' FROM objects WHERE id = {thing[0]}",
        ]
        self._expected_changes = {
            "reports": {"added": [(thing[0], finding)], "removed": []},
            "loans": {"added": [(thing[0], museum[0], until)], "removed": []},
            "objects": {"added": [(*thing[:4], "lent")], "removed": [thing]},
        }
        self._plan = [
            [
                ("find_objects", {"title": thing[1]}),
                ("find_museum", {"city": museum[1]}),
                ("file_report", {"object_id": thing[0], "finding": finding}),
                ("lend_object", {"object_id": thing[0], "museum_id": museum[0], "until": until}),
            ]
        ]
        self._tools = [
            tool("find_objects", "Objects of a title, with year, room and state.", title=TEXT),
            tool("find_museum", "Number of the museum in a city.", city=TEXT),
            tool("file_report", "State an object's condition.", object_id=WHOLE, finding={"type": "string", "enum": ["sound", "fragile"]}),
            tool("lend_object", "Give an object away for a time.", object_id=WHOLE, museum_id=WHOLE, until=WHOLE),
            tool("give_object", "Give an object away for good.", object_id=WHOLE),
            tool("store_object", "Take an object off display.", object_id=WHOLE),
            tool("move_object", "Show an object in another room.", object_id=WHOLE, room=TEXT),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def _here(self, object_id):
        return self._one("SELECT * FROM objects WHERE id = ? AND state = 'shown'", object_id)

    def tool_find_objects(self, title):
        return self.query("SELECT * FROM objects WHERE title = ? COLLATE NOCASE ORDER BY year", title)

    def tool_find_museum(self, city):
        return self._one("SELECT * FROM museums WHERE city = ? COLLATE NOCASE", city)

    def tool_file_report(self, object_id, finding):
        self._here(object_id)
        self._state.execute("INSERT OR REPLACE INTO reports VALUES (?, ?)", (object_id, finding))
        return {"object_id": object_id, "finding": finding}

    def tool_lend_object(self, object_id, museum_id, until):
        self._here(object_id)
        self._one("SELECT * FROM museums WHERE id = ?", museum_id)
        self._one("SELECT * FROM reports WHERE object = ?", object_id)
        self._state.execute("INSERT INTO loans VALUES (?, ?, ?)", (object_id, museum_id, until))
        self._state.execute("UPDATE objects SET state = 'lent' WHERE id = ?", (object_id,))
        return {"lent": object_id, "until": until}

    def tool_give_object(self, object_id):
        self._here(object_id)
        self._state.execute("UPDATE objects SET state = 'given away' WHERE id = ?", (object_id,))
        return {"given": object_id}

    def tool_store_object(self, object_id):
        self._here(object_id)
        self._state.execute("UPDATE objects SET state = 'stored' WHERE id = ?", (object_id,))
        return {"stored": object_id}

    def tool_move_object(self, object_id, room):
        self._here(object_id)
        place = self._one("SELECT * FROM rooms WHERE name = ? COLLATE NOCASE", room)
        self._state.execute("UPDATE objects SET room = ? WHERE id = ?", (place["id"], object_id))
        return {"object_id": object_id, "room": room}
