import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
MEMBERS = "Anouk Boris Celia Dario Edith Faye Gino Hedda Ivor Jolan".split()
VARIETIES = "Blue Lake,Black Krim,Gold Rush,Red Kuri,Lemon Drop,Winter Keeper".split(",")


class SeedLibraryEnv(SqliteToolEnv):
    """A seed library, distractor tools: lending, reserving and discarding look alike, and so do charging and granting."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, credit INTEGER);
    CREATE TABLE varieties (id INTEGER PRIMARY KEY, name TEXT, isolation INTEGER);
    CREATE TABLE packets (id INTEGER PRIMARY KEY, variety INTEGER REFERENCES varieties (id), year INTEGER, state TEXT);
    CREATE TABLE loans (packet INTEGER PRIMARY KEY REFERENCES packets (id), member INTEGER REFERENCES members (id));
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        members = [(n, name, rng.randint(2, 9)) for n, name in zip(rng.sample(range(100, 999), 10), MEMBERS)]
        varieties = [(n, name, rng.randint(1, 50)) for n, name in zip(rng.sample(range(10, 99), 6), VARIETIES)]
        places = [(variety[0], year) for variety in varieties for year in rng.sample(range(2010, 2026), 6)]
        packets = [(n, *place, "in store") for n, place in zip(rng.sample(range(1000, 9999), 36), places)]
        loans = []
        for i in range(0, 36, 6):  # of each variety the newest is out
            newest = max(range(i, i + 6), key=lambda j: packets[j][2])
            packets[newest] = (*packets[newest][:3], "lent")
            loans.append((packets[newest][0], rng.choice(members)[0]))
        self._fill({"members": members, "varieties": varieties, "packets": packets, "loans": loans})
        member, variety = rng.choice(members), rng.choice(varieties)
        packet = max((p for p in packets if p[1] == variety[0] and p[3] == "in store"), key=lambda row: row[2])
        self._user_messages = [
            f"{member[1]} stands at the counter and takes the newest packet of '{variety[1]}' that is in store home, "
            "for one credit, as always. Book both."
        ]
        self._message_criteria = [
            f"SELECT state = 'lent' FROM packets WHERE id = {packet[0]}",
            f"SELECT member = {member[0]} FROM loans WHERE packet = {packet[0]}",
            f"SELECT credit = {member[2] - 1} FROM members WHERE id = {member[0]}",
        ]
        self._expected_changes = {
            "packets": {"added": [(*packet[:3], "lent")], "removed": [packet]},
            "loans": {"added": [(packet[0], member[0])], "removed": []},
            "members": {"added": [(*member[:2], member[2] - 1)], "removed": [member]},
        }
        self._plan = [
            [
                ("find_member", {"name": member[1]}),
                ("find_variety", {"name": variety[1]}),
                ("list_packets", {"variety_id": variety[0]}),
                ("lend_packet", {"packet_id": packet[0], "member_id": member[0]}),
                ("charge_credit", {"member_id": member[0]}),
            ]
        ]
        self._tools = [
            tool("find_member", "Number and credit of a member.", name=TEXT),
            tool("find_variety", "Number and isolation distance of a variety.", name=TEXT),
            tool("list_packets", "Packets of a variety, with year and state.", variety_id=WHOLE),
            tool("lend_packet", "A member takes a packet home.", packet_id=WHOLE, member_id=WHOLE),
            tool("reserve_packet", "Keep a packet for a visit to come.", packet_id=WHOLE),
            tool("discard_packet", "Throw a packet away that does not sprout.", packet_id=WHOLE),
            tool("charge_credit", "Take one credit for a packet.", member_id=WHOLE),
            tool("grant_credit", "Thank for seeds that were brought, by one credit.", member_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def _set(self, packet_id, state):
        self._one("SELECT * FROM packets WHERE id = ? AND state = 'in store'", packet_id)
        self._state.execute("UPDATE packets SET state = ? WHERE id = ?", (state, packet_id))
        return {"packet_id": packet_id, "state": state}

    def tool_find_member(self, name):
        return self._one("SELECT * FROM members WHERE name = ? COLLATE NOCASE", name)

    def tool_find_variety(self, name):
        return self._one("SELECT * FROM varieties WHERE name = ? COLLATE NOCASE", name)

    def tool_list_packets(self, variety_id):
        return self.query("SELECT id, year, state FROM packets WHERE variety = ?", variety_id)

    def tool_lend_packet(self, packet_id, member_id):
        self._one("SELECT * FROM members WHERE id = ?", member_id)
        result = self._set(packet_id, "lent")
        self._state.execute("INSERT INTO loans VALUES (?, ?)", (packet_id, member_id))
        return result

    def tool_reserve_packet(self, packet_id):
        return self._set(packet_id, "reserved")

    def tool_discard_packet(self, packet_id):
        return self._set(packet_id, "discarded")

    def tool_charge_credit(self, member_id):
        self._one("SELECT * FROM members WHERE id = ? AND credit > 0", member_id)
        self._state.execute("UPDATE members SET credit = credit - 1 WHERE id = ?", (member_id,))
        return self._one("SELECT credit FROM members WHERE id = ?", member_id)

    def tool_grant_credit(self, member_id):
        self._one("SELECT * FROM members WHERE id = ?", member_id)
        self._state.execute("UPDATE members SET credit = credit + 1 WHERE id = ?", (member_id,))
        return self._one("SELECT credit FROM members WHERE id = ?", member_id)
