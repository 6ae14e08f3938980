import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
KEEPERS = "Alma Bodo Cosma Dirk Enno Frida".split()
PRODUCTS = ["thymol", "oxalic acid", "formic acid"]


class BeekeepersEnv(SqliteToolEnv):
    """A cooperative of beekeepers, set of records: the weak hives of one keeper are treated, and no other hive."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE keepers (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE apiaries (id INTEGER PRIMARY KEY, keeper INTEGER REFERENCES keepers (id), place TEXT);
    CREATE TABLE hives (id INTEGER PRIMARY KEY, apiary INTEGER REFERENCES apiaries (id), frames INTEGER, queen INTEGER);
    CREATE TABLE treatments (hive INTEGER PRIMARY KEY REFERENCES hives (id), product TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        keepers = [(n, name) for n, name in zip(rng.sample(range(10, 99), 6), KEEPERS)]
        apiaries = [
            (n, keepers[i // 2][0], place)
            for i, (n, place) in enumerate(zip(rng.sample(range(100, 999), 12), ["orchard", "heath"] * 6))
        ]
        hives = [
            (n, apiaries[i // 3][0], rng.randint(2, 5) if i % 3 == 0 else rng.randint(6, 11), rng.randint(2021, 2025))
            for i, n in enumerate(rng.sample(range(1000, 9999), 36))
        ]
        keeper = rng.choice(keepers)
        own = [row for row in apiaries if row[1] == keeper[0]]
        weak = [row for row in hives if row[1] in (own[0][0], own[1][0]) and row[2] < 6]
        others = [row for row in hives if row[1] not in (own[0][0], own[1][0])]
        treated = [(row[0], rng.choice(PRODUCTS)) for row in rng.sample(others, 5)]
        self._fill({"keepers": keepers, "apiaries": apiaries, "hives": hives, "treatments": treated})
        product = rng.choice(PRODUCTS)
        self._user_messages = [
            f"{keeper[1]} asks us to treat every hive of both apiaries that holds fewer than 6 frames of bees with "
            f"{product}. Strong hives are not to be touched."
        ]
        self._message_criteria = [f"SELECT product = '{product}' FROM treatments WHERE hive = {row[0]}" for row in weak]
        added = sorted([(row[0], product) for row in weak], key=repr)
        self._expected_changes = {"treatments": {"added": added, "removed": []}}
        self._plan = [
            [
                ("find_keeper", {"name": keeper[1]}),
                ("list_apiaries", {"keeper_id": keeper[0]}),
                *(("list_hives", {"apiary_id": row[0]}) for row in own),
                *(("treat_hive", {"hive_id": row[0], "product": product}) for row in weak),
            ]
        ]
        self._tools = [
            tool("find_keeper", "Number of a keeper.", name=TEXT),
            tool("list_apiaries", "Apiaries of a keeper.", keeper_id=WHOLE),
            tool("list_hives", "Hives of an apiary: frames of bees, and the year of the queen.", apiary_id=WHOLE),
            tool("treat_hive", "Treat a hive against mites.", hive_id=WHOLE, product={"type": "string", "enum": PRODUCTS}),
            tool("merge_hives", "Join the bees of one hive to another.", weak_id=WHOLE, strong_id=WHOLE),
            tool("replace_queen", "Give a hive a queen of this year.", hive_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def changes(self):
        found = super().changes()
        found.pop("hives", None)
        return found

    def tool_find_keeper(self, name):
        return self._one("SELECT * FROM keepers WHERE name = ? COLLATE NOCASE", name)

    def tool_list_apiaries(self, keeper_id):
        return self.query("SELECT * FROM apiaries WHERE keeper = ? ORDER BY id", keeper_id)

    def tool_list_hives(self, apiary_id):
        return self.query("SELECT * FROM hives WHERE apiary = ? ORDER BY id", apiary_id)

    def tool_treat_hive(self, hive_id, product):
        self._one("SELECT * FROM hives WHERE id = ?", hive_id)
        if self.query("SELECT * FROM treatments WHERE hive = ?", hive_id):
            raise ValueError("it has been treated")
        self._state.execute("INSERT INTO treatments VALUES (?, ?)", (hive_id, product))
        return {"hive_id": hive_id, "product": product}

    def tool_merge_hives(self, weak_id, strong_id):
        if weak_id == strong_id:
            raise ValueError("name two hives")
        frames = self._one("SELECT frames FROM hives WHERE id = ?", weak_id)["frames"]
        self._one("SELECT * FROM hives WHERE id = ?", strong_id)
        self._state.execute("UPDATE hives SET frames = frames + ? WHERE id = ?", (frames, strong_id))
        self._state.execute("UPDATE hives SET frames = 0 WHERE id = ?", (weak_id,))
        return {"merged": weak_id, "into": strong_id}

    def tool_replace_queen(self, hive_id):
        self._one("SELECT * FROM hives WHERE id = ?", hive_id)
        self._state.execute("UPDATE hives SET queen = 2026 WHERE id = ?", (hive_id,))
        return {"hive_id": hive_id, "queen": 2026}
