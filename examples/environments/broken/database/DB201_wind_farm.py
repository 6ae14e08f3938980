import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
MODELS = ["Auk", "Petrel", "Skua"]
ALARMS = ["pitch", "yaw", "gearbox"]
PEOPLE = "Arno Britt Chidi Dagny Emil Fenna Goran Helle Ilja".split()


class WindFarmEnv(SqliteToolEnv):
    """A wind farm, dependent records: model and alarm of a turbine lead to the part and to the technician."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE turbines (id INTEGER PRIMARY KEY, tag TEXT, model TEXT, alarm TEXT);
    CREATE TABLE parts (id INTEGER PRIMARY KEY, model TEXT, alarm TEXT, stock INTEGER);
    CREATE TABLE technicians (id INTEGER PRIMARY KEY, name TEXT, model TEXT, hours INTEGER);
    CREATE TABLE orders (turbine INTEGER PRIMARY KEY REFERENCES turbines (id), part INTEGER REFERENCES parts (id),
                         technician INTEGER REFERENCES technicians (id));
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        turbines = [
            (n, f"{rng.choice('NESW')}{i + 1:02}", rng.choice(MODELS), rng.choice(ALARMS) if rng.random() < 0.6 else "")
            for i, n in enumerate(rng.sample(range(1000, 9999), 30))
        ]
        turbines[0] = (*turbines[0][:3], rng.choice(ALARMS))
        kinds = [(model, alarm) for model in MODELS for alarm in ALARMS]
        parts = [(n, *kind, rng.randint(1, 9)) for n, kind in zip(rng.sample(range(100, 999), 9), kinds)]
        hours = rng.sample(range(2, 40), 9)
        technicians = [
            (n, name, MODELS[i % 3], hours[i]) for i, (n, name) in enumerate(zip(rng.sample(range(10, 99), 9), PEOPLE))
        ]
        turbine = turbines[0]
        orders = [(row[0], rng.choice(parts)[0], rng.choice(technicians)[0]) for row in turbines[1:5]]
        rng.shuffle(turbines)
        self._fill({"turbines": turbines, "parts": parts, "technicians": technicians, "orders": orders})
        part = next(row for row in parts if row[1:3] == turbine[2:])
        person = min((row for row in technicians if row[2] == turbine[2]), key=lambda row: row[3])
        extra = rng.randint(3, 8)
        self._user_messages = [
            f"Turbine {turbine[1]} stands still. Order its repair: the part for its alarm, and of the technicians for its "
            f"model the one with the fewest hours. Book {extra} hours for that person."
        ]
        self._message_criteria = [
            f"SELECT part = {part[0]} FROM orders WHERE turbine = {turbine[0]}",
            f"SELECT technician = {person[0]} FROM orders WHERE turbine = {turbine[0]}",
            f"SELECT hours = {person[3] + extra} FROM technicians WHERE id = {person[0]}",
        ]
        self._expected_changes = {
            "orders": {"added": [(turbine[0], part[0], person[0])], "removed": []},
            "parts": {"added": [(*part[:3], part[3] - 1)], "removed": [part]},
            "technicians": {"added": [(*person[:3], person[3] + extra)], "removed": [person]},
        }
        self._plan = [
            [
                ("find_turbine", {"tag": turbine[1].lower()}),
                ("find_turbine", {"tag": turbine[1]}),
                ("find_part", {"model": turbine[2], "alarm": turbine[3]}),
                ("list_technicians", {"model": turbine[2]}),
                ("order_repair", {"turbine_id": turbine[0], "part_id": part[0], "technician_id": person[0]}),
                ("book_hours", {"technician_id": person[0], "hours": extra}),
            ]
        ]
        model = {"type": "string", "enum": MODELS}
        self._tools = [
            tool("find_turbine", "Number, model and alarm of a turbine.", tag=TEXT),
            tool("find_part", "The part that ends an alarm.", model=model, alarm={"type": "string", "enum": ALARMS}),
            tool("list_technicians", "Technicians for a model, with hours booked.", model=model),
            tool("order_repair", "Order a repair; the part leaves the store.", turbine_id=WHOLE, part_id=WHOLE, technician_id=WHOLE),
            tool("book_hours", "Add to the hours of a technician.", technician_id=WHOLE, hours=WHOLE),
            tool("clear_alarm", "Silence an alarm without a repair.", turbine_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_turbine(self, tag):
        return self._one("SELECT * FROM turbines WHERE tag = ?", tag)

    def tool_find_part(self, model, alarm):
        return self._one("SELECT * FROM parts WHERE model = ? AND alarm = ?", model, alarm)

    def tool_list_technicians(self, model):
        return self.query("SELECT * FROM technicians WHERE model = ? ORDER BY id", model)

    def tool_order_repair(self, turbine_id, part_id, technician_id):
        self._one("SELECT * FROM turbines WHERE id = ? AND alarm != ''", turbine_id)
        self._one("SELECT * FROM parts WHERE id = ? AND stock > 0", part_id)
        self._one("SELECT * FROM technicians WHERE id = ?", technician_id)
        if self.query("SELECT * FROM orders WHERE turbine = ?", turbine_id):
            raise ValueError("its repair is ordered")
        self._state.execute("INSERT INTO orders VALUES (?, ?, ?)", (turbine_id, part_id, technician_id))
        self._state.execute("UPDATE parts SET stock = stock - 1 WHERE id = ?", (part_id,))
        return {"ordered_for": turbine_id}

    def tool_book_hours(self, technician_id, hours):
        self._one("SELECT * FROM technicians WHERE id = ?", technician_id)
        if hours < 1:
            raise ValueError("book one hour or more")
        self._state.execute("UPDATE technicians SET hours = hours + ? WHERE id = ?", (hours, technician_id))
        return {"technician_id": technician_id, "booked": hours}

    def tool_clear_alarm(self, turbine_id):
        self._one("SELECT * FROM turbines WHERE id = ? AND alarm != ''", turbine_id)
        self._state.execute("UPDATE turbines SET alarm = '' WHERE id = ?", (turbine_id,))
        return {"cleared": turbine_id}
