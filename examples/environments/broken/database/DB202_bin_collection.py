import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
STREETS = ["Mill Lane", "Quay Street", "Harrow Road", "Bell Yard"]
KINDS = ["paper", "glass", "garden"]


class BinCollectionEnv(SqliteToolEnv):
    """Bin collection, set of records: the bins of one kind in one street that were missed go on the next round."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE streets (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE houses (id INTEGER PRIMARY KEY, street INTEGER REFERENCES streets (id), number INTEGER);
    CREATE TABLE bins (id INTEGER PRIMARY KEY, house INTEGER REFERENCES houses (id), kind TEXT, missed INTEGER);
    CREATE TABLE rounds (id INTEGER PRIMARY KEY, kind TEXT, day INTEGER);
    CREATE TABLE pickups (bin INTEGER PRIMARY KEY REFERENCES bins (id), round INTEGER REFERENCES rounds (id));
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        streets = [(n, name) for n, name in zip(rng.sample(range(10, 99), 4), STREETS)]
        houses = [(n, streets[i // 4][0], 2 * (i % 4) + 1) for i, n in enumerate(rng.sample(range(100, 999), 16))]
        bins = [
            (n, houses[i // 3][0], KINDS[i % 3], int(rng.random() < 0.3))
            for i, n in enumerate(rng.sample(range(1000, 9999), 48))
        ]
        street, kind = rng.randrange(4), rng.randrange(3)
        own = [12 * street + 3 * house + kind for house in range(4)]
        missed = rng.sample(own, rng.randint(2, 3))
        for i in own:
            bins[i] = (*bins[i][:3], int(i in missed))
        days = rng.sample(range(2, 29), 9)
        rounds = [(n, KINDS[i % 3], days[i]) for i, n in enumerate(rng.sample(range(100, 999), 9))]
        due = [bins[i] for i in missed]
        others = [row for i, row in enumerate(bins) if row[3] and i not in own]
        pickups = [(row[0], next(r[0] for r in rounds if r[1] == row[2])) for row in others[:3]]
        self._fill({"streets": streets, "houses": houses, "bins": bins, "rounds": rounds, "pickups": pickups})
        first = min((row for row in rounds if row[1] == KINDS[kind]), key=lambda row: row[2])
        self._user_messages = [
            f"In {STREETS[street]} some {KINDS[kind]} bins were missed. Put each of those that were missed on the earliest "
            f"round for {KINDS[kind]}."
        ]
        self._message_criteria = [f"SELECT round = {first[0]} FROM pickups WHERE bin = {row[0]}" for row in due]
        added = sorted([(row[0], first[0]) for row in due], key=repr)
        self._expected_changes = {"pickups": {"added": added, "removed": []}}
        self._plan = [
            [
                ("find_street", {"name": STREETS[street]}),
                ("list_bins", {"street_id": streets[street][0], "kind": KINDS[kind]}),
                ("list_rounds", {"kind": KINDS[kind]}),
                *(("add_pickup", {"bin_id": row[0], "round_id": first[0]}) for row in due),
            ]
        ]
        kind_of = {"type": "string", "enum": KINDS}
        self._tools = [
            tool("find_street", "Number of a street.", name=TEXT),
            tool("list_bins", "Bins of a kind in a street; missed is 1 for those that were.", street_id=WHOLE, kind=kind_of),
            tool("list_rounds", "Rounds for a kind, by number.", kind=kind_of),
            tool("add_pickup", "Put a bin on a round for its kind.", bin_id=WHOLE, round_id=WHOLE),
            tool("drop_pickup", "Take a bin off its round.", bin_id=WHOLE),
            tool("change_kind", "Exchange a bin for one of another kind.", bin_id=WHOLE, kind=kind_of),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_street(self, name):
        return self._one("SELECT * FROM streets WHERE name = ? COLLATE NOCASE", name)

    def tool_list_bins(self, street_id, kind):
        sql = """SELECT bins.id, number AS house, missed FROM bins JOIN houses ON house = houses.id
                 WHERE street = ? AND kind = ? ORDER BY number"""
        return self.query(sql, street_id, kind)

    def tool_list_rounds(self, kind):
        return self.query("SELECT * FROM rounds WHERE kind = ? ORDER BY id", kind)

    def tool_add_pickup(self, bin_id, round_id):
        self._one("SELECT kind FROM bins WHERE id = ?", bin_id)
        if self.query("SELECT * FROM pickups WHERE bin = ?", bin_id):
            raise ValueError("it is on a round")
        self._state.execute("INSERT INTO pickups VALUES (?, ?)", (bin_id, round_id))
        return {"bin_id": bin_id, "round_id": round_id}

    def tool_drop_pickup(self, bin_id):
        self._one("SELECT * FROM pickups WHERE bin = ?", bin_id)
        self._state.execute("DELETE FROM pickups WHERE bin = ?", (bin_id,))
        return {"dropped": bin_id}

    def tool_change_kind(self, bin_id, kind):
        self._one("SELECT * FROM bins WHERE id = ? AND kind != ?", bin_id, kind)
        self._state.execute("UPDATE bins SET kind = ? WHERE id = ?", (kind, bin_id))
        return {"bin_id": bin_id, "kind": kind}
