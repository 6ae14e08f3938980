import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
TITLES = ["The Cherry Door", "Salt and Iron", "Nine Lanterns", "A Borrowed Coat", "The Quiet Ferry"]
PATRONS = "Abe Bea Cal Deb Eli Fay Gil Hal Ida Jo Kay Lou".split()


class TheatreBoxOfficeEnv(SqliteToolEnv):
    """A box office, set of records: every paid booking of one evening is refunded, and no other."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE plays (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE evenings (id INTEGER PRIMARY KEY, play INTEGER REFERENCES plays (id), day INTEGER, state TEXT);
    CREATE TABLE patrons (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE bookings (id INTEGER PRIMARY KEY, evening INTEGER REFERENCES evenings (id),
                           patron INTEGER REFERENCES patrons (id), paid INTEGER, state TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        plays = [(n, title) for n, title in zip(rng.sample(range(10, 99), 5), TITLES)]
        dates = [(play[0], day) for play in plays for day in rng.sample(range(1, 29), 2)]
        evenings = [(n, *date, "on") for n, date in zip(rng.sample(range(100, 999), 10), dates)]
        patrons = [(n, name) for n, name in zip(rng.sample(range(1000, 9999), 12), PATRONS)]
        numbers = rng.sample(range(10000, 99999), 40)
        bookings = []
        for i, number in enumerate(numbers):  # four an evening: a free ticket, one cancelled before, two paid
            paid = 0 if i % 4 == 0 else 5 * rng.randint(3, 12)
            bookings.append((number, evenings[i // 4][0], rng.choice(patrons)[0], paid, "cancelled" if i % 4 == 1 else "booked"))
        rng.shuffle(bookings)
        self._fill({"plays": plays, "evenings": evenings, "patrons": patrons, "bookings": bookings})
        evening = rng.choice(evenings)
        title = next(row[1] for row in plays if row[0] == evening[1])
        due = [row for row in bookings if row[1] == evening[0] and row[3] and row[4] == "booked"]
        self._user_messages = [
            f"The lead of '{title}' is ill. Call off the evening of day {evening[2]} and refund every booking of it that "
            "was paid for and still stands. Free tickets stay as they are."
        ]
        self._message_criteria = [
            f"SELECT count(*) = 10 FROM evenings",
            *(f"SELECT state = 'refunded' FROM bookings WHERE id = {row[0]}" for row in due),
        ]
        self._expected_changes = {
            "evenings": {"added": [(*evening[:3], "called off")], "removed": [evening]},
            "bookings": {
                "added": sorted([(*row[:4], "refunded") for row in due], key=repr),
                "removed": sorted(due, key=repr),
            },
        }
        self._plan = [
            [
                ("find_play", {"title": title}),
                ("list_evenings", {"play_id": evening[1]}),
                ("list_bookings", {"evening_id": evening[0]}),
                ("call_off", {"evening_id": evening[0]}),
                *(("refund", {"booking_id": row[0]}) for row in due),
            ]
        ]
        self._tools = [
            tool("find_play", "Number of a play.", title=TEXT),
            tool("list_evenings", "Evenings of a play.", play_id=WHOLE),
            tool("list_bookings", "Bookings of an evening.", evening_id=WHOLE),
            tool("call_off", "Call an evening off. Bookings stay as they are.", evening_id=WHOLE),
            tool("refund", "Pay a booking back in full.", booking_id=WHOLE),
            tool("mark", "Mark a booking.", booking_id=WHOLE, state={"type": "string", "enum": ["cancelled", "no show"]}),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_play(self, title):
        return self._one("SELECT * FROM plays WHERE title = ? COLLATE NOCASE", title)

    def tool_list_evenings(self, play_id):
        return self.query("SELECT * FROM evenings WHERE play = ? ORDER BY day", play_id)

    def tool_list_bookings(self, evening_id):
        return self.query("SELECT * FROM bookings WHERE evening = ? ORDER BY id", evening_id)

    def tool_call_off(self, evening_id):
        self._one("SELECT * FROM evenings WHERE id = ? AND state = 'on'", evening_id)
        self._state.execute("UPDATE evenings SET state = 'called off' WHERE id = ?", (evening_id,))
        return {"called_off": evening_id}

    def tool_refund(self, booking_id):
        row = self._one("SELECT * FROM bookings WHERE id = ? AND state != 'refunded'", booking_id)
        self._state.execute("UPDATE bookings SET state = 'refunded' WHERE id = ?", (booking_id,))
        return {"booking_id": booking_id, "paid_back": row["paid"]}

    def tool_mark(self, booking_id, state):
        self._one("SELECT * FROM bookings WHERE id = ? AND state = 'booked'", booking_id)
        self._state.execute("UPDATE bookings SET state = ? WHERE id = ?", (state, booking_id))
        return {"booking_id": booking_id, "state": state}
