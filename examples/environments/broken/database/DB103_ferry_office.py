import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
DAYS = ["Friday", "Saturday", "Sunday"]
FERRIES = ["Selkie", "Kittiwake", "Northern Star"]


class FerryOfficeEnv(SqliteToolEnv):
    """A ferry office, explicit: a vehicle moves to the next sailing that has room, and gets a new ticket."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE ferries (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE sailings (id INTEGER PRIMARY KEY, ferry INTEGER REFERENCES ferries (id), day TEXT, hour INTEGER,
                           free_metres INTEGER);
    CREATE TABLE vehicles (id INTEGER PRIMARY KEY, plate TEXT, metres INTEGER);
    CREATE TABLE passages (id INTEGER PRIMARY KEY, vehicle INTEGER REFERENCES vehicles (id),
                           sailing INTEGER REFERENCES sailings (id));
    CREATE TABLE tickets (passage INTEGER PRIMARY KEY REFERENCES passages (id), sailing INTEGER);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        ferries = [(n, name) for n, name in zip(rng.sample(range(1, 9), 3), FERRIES)]
        times = [(day, hour) for day in DAYS for hour in (7, 10, 13, 16, 19)]
        sailings = [
            (n, rng.choice(ferries)[0], *time, rng.randint(0, 14))
            for n, time in zip(rng.sample(range(100, 999), 15), times)
        ]
        vehicles = [
            (n, f"{rng.choice('KLMNPR')}{rng.choice('ABCDEF')} {plate}", rng.randint(4, 9))
            for n, plate in zip(rng.sample(range(1000, 9999), 18), rng.sample(range(100, 999), 18))
        ]
        day = rng.choice(DAYS)
        vehicle = rng.choice(vehicles)
        today = [i for i, row in enumerate(sailings) if row[2] == day]
        start, target = today[rng.randint(0, 1)], today[rng.randint(3, 4)]
        for i in today:  # between the two nothing is long enough
            free = rng.randint(vehicle[2], 20) if i >= target else rng.randint(0, vehicle[2] - 1)
            sailings[i] = (*sailings[i][:4], free)
        passages = [
            (n, row[0], sailings[start][0] if row == vehicle else rng.choice(sailings)[0])
            for n, row in zip(rng.sample(range(10000, 99999), 18), vehicles)
        ]
        tickets = [(row[0], row[2]) for row in passages if row[1] != vehicle[0]]
        self._fill(
            {"ferries": ferries, "sailings": sailings, "vehicles": vehicles, "passages": passages, "tickets": tickets}
        )
        self._state.execute("UPDATE ferries SET name = name || '!'")
        passage = next(row for row in passages if row[1] == vehicle[0])
        old, new = sailings[start], sailings[target]
        self._user_messages = [
            f"The car {vehicle[1]} missed its ferry on {day}. Move its passage to the next sailing of that day with room "
            "for it, then print its ticket."
        ]
        self._message_criteria = [
            f"SELECT sailing = {new[0]} FROM passages WHERE id = {passage[0]}",
            f"SELECT sailing = {new[0]} FROM tickets WHERE passage = {passage[0]}",
        ]
        moved = [(*old[:4], old[4] + vehicle[2]), (*new[:4], new[4] - vehicle[2])]
        self._expected_changes = {
            "sailings": {"added": sorted(moved, key=repr), "removed": sorted([old, new], key=repr)},
            "passages": {"added": [(*passage[:2], new[0])], "removed": [passage]},
            "tickets": {"added": [(passage[0], new[0])], "removed": []},
        }
        self._plan = [
            [
                ("find_vehicle", {"plate": vehicle[1]}),
                ("find_passage", {"vehicle_id": vehicle[0]}),
                ("list_sailings", {"day": day}),
                ("move_passage", {"passage_id": passage[0], "sailing_id": new[0]}),
                ("print_ticket", {"passage_id": passage[0]}),
            ]
        ]
        self._tools = [
            tool("find_vehicle", "Number and length of a vehicle.", plate=TEXT),
            tool("find_passage", "The passage of a vehicle.", vehicle_id=WHOLE),
            tool("list_sailings", "Sailings of a day by hour, with free metres.", day={"type": "string", "enum": DAYS}),
            tool("move_passage", "Put a passage on another sailing.", passage_id=WHOLE, sailing_id=WHOLE),
            tool("print_ticket", "Print the ticket of a passage that has none.", passage_id=WHOLE),
            tool("void_ticket", "Take a printed ticket back.", passage_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_vehicle(self, plate):
        return self._one("SELECT * FROM vehicles WHERE plate = ?", plate)

    def tool_find_passage(self, vehicle_id):
        return self._one("SELECT * FROM passages WHERE vehicle = ?", vehicle_id)

    def tool_list_sailings(self, day):
        return self.query("SELECT id, hour, free_metres FROM sailings WHERE day = ? ORDER BY hour", day)

    def tool_move_passage(self, passage_id, sailing_id):
        passage = self._one("SELECT * FROM passages WHERE id = ?", passage_id)
        metres = self._one("SELECT metres FROM vehicles WHERE id = ?", passage["vehicle"])["metres"]
        if self._one("SELECT * FROM sailings WHERE id = ?", sailing_id)["free_metres"] < metres:
            raise ValueError("there is no room for it")
        change = "UPDATE sailings SET free_metres = free_metres + ? WHERE id = ?"
        self._state.execute(change, (metres, passage["sailing"]))
        self._state.execute(change, (-metres, sailing_id))
        self._state.execute("UPDATE passages SET sailing = ? WHERE id = ?", (sailing_id, passage_id))
        return {"passage_id": passage_id, "sailing_id": sailing_id}

    def tool_print_ticket(self, passage_id):
        passage = self._one("SELECT * FROM passages WHERE id = ?", passage_id)
        if self.query("SELECT * FROM tickets WHERE passage = ?", passage_id):
            raise ValueError("it has a ticket")
        self._state.execute("INSERT INTO tickets VALUES (?, ?)", (passage_id, passage["sailing"]))
        return {"passage_id": passage_id, "sailing_id": passage["sailing"]}

    def tool_void_ticket(self, passage_id):
        self._one("SELECT * FROM tickets WHERE passage = ?", passage_id)
        self._state.execute("DELETE FROM tickets WHERE passage = ?", (passage_id,))
        return {"voided": passage_id}
