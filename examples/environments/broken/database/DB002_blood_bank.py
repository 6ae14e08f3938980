import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
TYPES = ["A+", "A-", "B+", "B-", "AB+", "AB-"]
CITIES = "Aldern Brook Carrow Denholm Esk Fallow Garth Holm".split()
RULES = [
    (1, "choice", "A patient gets a bag of the very same type if one is in stock, else one of O-."),
    (2, "choice", "Of several bags the one that expires first is taken."),
    (3, "delivery", "A bag is reserved for the hospital first and handed to a courier then, never the other way round."),
    (4, "delivery", "One patient, one bag. More is sent on a written request only."),
    (5, "disposal", "Only bags that have expired are discarded."),
]


class BloodBankEnv(SqliteToolEnv):
    """A blood bank, implicit intent: a need is told, and the rules of the house say what follows."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE hospitals (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE rules (id INTEGER PRIMARY KEY, topic TEXT, text TEXT);
    CREATE TABLE bags (id INTEGER PRIMARY KEY, type TEXT, expires INTEGER,
                       hospital INTEGER REFERENCES hospitals (id));
    CREATE TABLE deliveries (bag INTEGER PRIMARY KEY REFERENCES bags (id), courier TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        hospitals = [(n, f"{city} Hospital") for n, city in zip(rng.sample(range(100, 999), 8), CITIES)]
        wanted, missing = rng.choice(TYPES), rng.random() < 0.5
        kinds = [kind for kind in [*TYPES, "O-"] if not (missing and kind == wanted)]
        kinds = [kinds[i % len(kinds)] for i in range(20)]
        days, numbers = rng.sample(range(1, 400), 20), rng.sample(range(10000, 99999), 20)
        bags = [(number, kind, day, None) for number, kind, day in zip(numbers, kinds, days)]
        for i in rng.sample(range(20), 3):
            bags[i] = (*bags[i][:3], rng.choice(hospitals)[0])
        sent = [(row[0], rng.choice(["van", "bike"])) for row in bags if row[3]][:3]
        self._fill({"hospitals": hospitals, "rules": RULES, "bags": bags, "deliveries": sent})
        hospital = rng.choice(hospitals)
        free = [row for row in bags if row[3] is None]
        same = [row for row in free if row[1] == wanted]
        bag = min(same or [row for row in free if row[1] == "O-"], key=lambda row: row[2])
        self._user_messages = [
            f"{hospital[1]} has a patient of type {wanted} on the table and nothing left on its shelves. The bike is here."
        ]
        self._message_criteria = [
            f"SELECT hospital = {hospital[0]} FROM bags WHERE id = {bag[0]}",
            f"SELECT courier = 'bike' FROM deliveries WHERE bag = {bag[0]}",
        ]
        self._expected_changes = {
            "bags": {"added": [(*bag[:3], hospital[0])], "removed": [bag]},
            "deliveries": {"added": [(bag[0], "bike")], "removed": []},
        }
        stock = [wanted] if same else [wanted, "O-"]
        self._plan = [
            [
                ("read_rules", {"topic": "choice"}),
                ("read_rules", {"topic": "delivery"}),
                ("find_hospital", {"name": hospital[1]}),
                *(("stock", {"type": kind}) for kind in stock),
                ("reserve_bag", {"bag_id": bag[0], "hospital_id": hospital[0]}),
                ("send_bag", {"bag_id": bag[0], "courier": "bike"}),
            ]
        ]
        self._tools = [
            tool("read_rules", "Rules of the house.", topic={"type": "string", "enum": ["choice", "delivery", "disposal"]}),
            tool("find_hospital", "Number of a hospital.", name=TEXT),
            tool("stock", "Bags of a type that nobody has reserved.", type={"type": "string", "enum": [*TYPES, "O-"]}),
            tool("reserve_bag", "Reserve a bag for a hospital.", bag_id=WHOLE, hospital_id=WHOLE),
            tool("send_bag", "Hand a reserved bag to a courier.", bag_id=WHOLE, courier={"type": "string", "enum": ["van", "bike"]}),
            tool("discard_bag", "Take a bag out of stock for good.", bag_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_read_rules(self, topic):
        return [row["text"] for row in self.query("SELECT text FROM rules WHERE topic = ? ORDER BY id", topic)]

    def tool_find_hospital(self, name):
        return self._one("SELECT * FROM hospitals WHERE name = ? COLLATE NOCASE", name)

    def tool_stock(self, type):
        return self.query("SELECT id, expires FROM bags WHERE type = ? AND hospital IS NULL", type)

    def tool_reserve_bag(self, bag_id, hospital_id):
        self._one("SELECT * FROM bags WHERE id = ? AND hospital IS NULL", bag_id)
        self._one("SELECT * FROM hospitals WHERE id = ?", hospital_id)
        self._state.execute("UPDATE bags SET hospital = ? WHERE id = ?", (hospital_id, bag_id))
        return {"bag_id": bag_id, "hospital_id": hospital_id}

    def tool_send_bag(self, bag_id, courier):
        self._one("SELECT * FROM bags WHERE id = ? AND hospital IS NOT NULL", bag_id)
        if self.query("SELECT * FROM deliveries WHERE bag = ?", bag_id):
            raise ValueError("the bag is on its way")
        self._state.execute("INSERT INTO deliveries VALUES (?, ?)", (bag_id, courier))
        return {"bag_id": bag_id, "courier": courier}

    def tool_discard_bag(self, bag_id):
        self._one("SELECT * FROM bags WHERE id = ? AND hospital IS NULL", bag_id)
        self._state.execute("DELETE FROM bags WHERE id = ?", (bag_id,))
        return {"discarded": bag_id}
