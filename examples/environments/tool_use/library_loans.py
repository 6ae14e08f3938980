import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class LibraryLoansEnv(SqliteToolEnv):
    """Library loans on a database, missing value: numbers of members and copies have to be looked up."""

    _schema = """
    CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, fine INTEGER);
    CREATE TABLE copies (id INTEGER PRIMARY KEY, title TEXT, shelf TEXT, member INTEGER);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = rng.sample(["Ivo Lang", "Jana Reis", "Kofi Mensah", "Lily Hart"], 3)
        members = list(zip(rng.sample(range(100, 999), 3), names, rng.sample(range(2, 20), 3)))
        titles = rng.sample(["Tides", "Iron Road", "Salt Maps", "Night Ferry", "Old Bridges"], 4)
        numbers = rng.sample(range(1000, 9999), 4)
        holder = [members[1][0], None, members[1][0], None]
        copies = [(n, t, rng.choice("ABC"), m) for n, t, m in zip(numbers, titles, holder)]
        self._fill({"members": members, "copies": copies})
        shelf = rng.choice([s for s in "ABC" if s != copies[3][2]])
        self._user_messages = [
            f"{names[1]} brought '{titles[0]}' back.",
            f"Lend '{titles[1]}' to {names[0]}, after taking the whole fine that is due.",
            f"Put '{titles[3]}' on shelf {shelf}.",
        ]
        self._message_criteria = [
            lambda db: db.execute("SELECT member IS NULL FROM copies WHERE id = ?", (numbers[0],)).fetchone()[0] == 1,
            f"SELECT (SELECT member FROM copies WHERE id = {numbers[1]}) = {members[0][0]} AND (SELECT fine FROM members WHERE id = {members[0][0]}) = 0",
            f"SELECT shelf = '{shelf}' FROM copies WHERE id = {numbers[3]}",
        ]
        self._plan = [
            [("find_copies", {"title": titles[0]}), ("return_copy", {"copy_id": numbers[0]})],
            [
                ("find_member", {"name": names[0]}),
                ("take_fine", {"member_id": members[0][0], "amount": members[0][2]}),
                ("find_copies", {"title": titles[1]}),
                ("lend_copy", {"copy_id": numbers[1], "member_id": members[0][0]}),
            ],
            [("find_copies", {"title": titles[3]}), ("set_shelf", {"copy_id": numbers[3], "shelf": shelf})],
        ]
        self._tools = [
            tool("find_copies", "Copies of a title: number, shelf, and who has it.", ["title"], title=TEXT),
            tool("find_member", "Number and fine of a member.", ["name"], name=TEXT),
            tool("return_copy", "A lent copy comes back.", ["copy_id"], copy_id=WHOLE),
            tool("take_fine", "Take money for a fine.", ["member_id", "amount"], member_id=WHOLE, amount=WHOLE),
            tool("lend_copy", "Lend a free copy to a member without a fine.", ["copy_id", "member_id"], copy_id=WHOLE, member_id=WHOLE),
            tool("set_shelf", "Where a copy stands.", ["copy_id", "shelf"], copy_id=WHOLE, shelf={"type": "string", "enum": ["A", "B", "C"]}),
            tool("reading_list", "Titles that staff suggest."),
        ]
        return self._user_messages[0], {}

    def _one(self, table, number):
        rows = self.query(f"SELECT * FROM {table} WHERE id = ?", number)
        if not rows:
            raise ValueError(f"no such number in {table}")
        return rows[0]

    def tool_find_copies(self, title):
        return self.query("SELECT * FROM copies WHERE title = ? COLLATE NOCASE ORDER BY id", title)

    def tool_find_member(self, name):
        found = self.query("SELECT * FROM members WHERE name = ? COLLATE NOCASE", name)
        return found[0] if found else {"error": "no such member"}

    def tool_return_copy(self, copy_id):
        if self._one("copies", copy_id)["member"] is None:
            return {"error": "the copy is not lent"}
        self._state.execute("UPDATE copies SET member = NULL WHERE id = ?", (copy_id,))
        return {"returned": copy_id}

    def tool_take_fine(self, member_id, amount):
        if not 0 < amount <= self._one("members", member_id)["fine"]:
            return {"error": "more than is due"}
        self._state.execute("UPDATE members SET fine = fine - ? WHERE id = ?", (amount, member_id))
        return {"fine": self._one("members", member_id)["fine"]}

    def tool_lend_copy(self, copy_id, member_id):
        if self._one("copies", copy_id)["member"] is not None or self._one("members", member_id)["fine"]:
            return {"error": "the copy is lent, or a fine is due"}
        self._state.execute("UPDATE copies SET member = ? WHERE id = ?", (member_id, copy_id))
        return {"lent": copy_id, "to": member_id}

    def tool_set_shelf(self, copy_id, shelf):
        self._one("copies", copy_id)
        self._state.execute("UPDATE copies SET shelf = ? WHERE id = ?", (shelf, copy_id))
        return {"copy_id": copy_id, "shelf": shelf}

    def tool_reading_list(self):
        return {"titles": ["Tides"]}
