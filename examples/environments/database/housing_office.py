import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
TENANTS = "Agda Balint Corin Dafne Emre Filip Gerda Hamid Irma Jens Kasia Luca".split()
PROBLEMS = ["water damage", "no heating", "broken lock", "mould"]
TOLD = {
    "water damage": "says that it drips through the ceiling onto the bed",
    "no heating": "has cold radiators in every room",
    "broken lock": "can no longer shut the front door",
    "mould": "sees black spots spread over the bathroom wall",
}
TRADES = ["plumber", "fitter", "locksmith", "painter"]


class HousingOfficeEnv(SqliteToolEnv):
    """A housing office, implicit intent: a tenant complains, and the table of problems says who comes, and how soon."""

    partial_credit = True
    side_effect_reward = -0.5
    format_reward = 0.01
    _schema = """
    CREATE TABLE flats (id INTEGER PRIMARY KEY, street TEXT, number INTEGER);
    CREATE TABLE tenants (id INTEGER PRIMARY KEY, name TEXT, flat INTEGER REFERENCES flats (id));
    CREATE TABLE procedures (problem TEXT PRIMARY KEY, trade TEXT, urgency TEXT, text TEXT);
    CREATE TABLE contractors (id INTEGER PRIMARY KEY, name TEXT, trade TEXT, open_jobs INTEGER);
    CREATE TABLE jobs (flat INTEGER PRIMARY KEY REFERENCES flats (id),
                       contractor INTEGER REFERENCES contractors (id), urgency TEXT);
    CREATE TABLE letters (tenant INTEGER PRIMARY KEY REFERENCES tenants (id), kind TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        flats = [(n, rng.choice(["Elm Court", "Oak Court"]), i + 1) for i, n in enumerate(rng.sample(range(100, 999), 16))]
        tenants = [(n, name, flats[i][0]) for i, (n, name) in enumerate(zip(rng.sample(range(1000, 9999), 12), TENANTS))]
        said = "Open a job with the contractor of the trade who has the fewest open jobs; then confirm it to the tenant."
        urgencies = rng.sample(["today", "this week", "this month", "today"], 4)
        procedures = [(p, trade, urgency, said) for p, trade, urgency in zip(PROBLEMS, TRADES, urgencies)]
        loads = rng.sample(range(0, 40), 16)
        contractors = [(n, f"{'ABCD'[i // 4]}. {TENANTS[i % 12]} & Co", TRADES[i % 4], loads[i])
                       for i, n in enumerate(rng.sample(range(10, 99), 16))]
        jobs = [(row[0], rng.choice(contractors)[0], "this month") for row in flats[12:]]
        self._fill({"flats": flats, "tenants": tenants, "procedures": procedures, "contractors": contractors,
                    "jobs": jobs, "letters": []})
        tenant, procedure = rng.choice(tenants), rng.choice(procedures)
        firm = min((row for row in contractors if row[2] == procedure[1]), key=lambda row: row[3])
        self._user_messages = [f"{tenant[1]} {TOLD[procedure[0]]}."]
        self._message_criteria = [
            f"SELECT contractor = {firm[0]} FROM jobs WHERE flat = {tenant[2]}",
            f"SELECT urgency = '{procedure[2]}' FROM jobs WHERE flat = {tenant[2]}",
            f"SELECT kind = 'confirmation' FROM letters WHERE tenant = {tenant[0]}",
        ]
        self._expected_changes = {
            "jobs": {"added": [(tenant[2], firm[0], procedure[2])], "removed": []},
            "contractors": {"added": [(*firm[:3], firm[3] + 1)], "removed": [firm]},
            "letters": {"added": [(tenant[0], "confirmation")], "removed": []},
        }
        self._plan = [
            [
                ("find_tenant", {"name": tenant[1]}),
                ("read_procedure", {"problem": procedure[0]}),
                ("list_contractors", {"trade": procedure[1]}),
                ("open_job", {"flat_id": tenant[2], "contractor_id": firm[0], "urgency": procedure[2]}),
                ("send_letter", {"tenant_id": tenant[0], "kind": "confirmation"}),
            ]
        ]
        soon = {"type": "string", "enum": ["today", "this week", "this month"]}
        kinds = {"type": "string", "enum": ["confirmation", "warning"]}
        self._tools = [
            tool("find_tenant", "Number and flat of a tenant.", name=TEXT),
            tool("read_procedure", "What is done about a problem.", problem={"type": "string", "enum": PROBLEMS}),
            tool("list_contractors", "Contractors of a trade.", trade={"type": "string", "enum": TRADES}),
            tool("open_job", "Send a contractor to a flat.", flat_id=WHOLE, contractor_id=WHOLE, urgency=soon),
            tool("send_letter", "Write to a tenant.", tenant_id=WHOLE, kind=kinds),
            tool("close_job", "End the job in a flat.", flat_id=WHOLE),
            tool("raise_rent", "Raise the rent of a flat; the tenant is warned.", tenant_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_tenant(self, name):
        return self._one("SELECT id, name, flat AS flat_id FROM tenants WHERE name = ? COLLATE NOCASE", name)

    def tool_read_procedure(self, problem):
        return self._one("SELECT * FROM procedures WHERE problem = ?", problem)

    def tool_list_contractors(self, trade):
        return self.query("SELECT * FROM contractors WHERE trade = ? ORDER BY id", trade)

    def tool_open_job(self, flat_id, contractor_id, urgency):
        self._one("SELECT * FROM flats WHERE id = ?", flat_id)
        self._one("SELECT * FROM contractors WHERE id = ?", contractor_id)
        if self.query("SELECT * FROM jobs WHERE flat = ?", flat_id):
            raise ValueError("a job is open in that flat")
        self._state.execute("INSERT INTO jobs VALUES (?, ?, ?)", (flat_id, contractor_id, urgency))
        self._state.execute("UPDATE contractors SET open_jobs = open_jobs + 1 WHERE id = ?", (contractor_id,))
        return {"flat_id": flat_id, "contractor_id": contractor_id, "urgency": urgency}

    def tool_send_letter(self, tenant_id, kind):
        self._one("SELECT * FROM tenants WHERE id = ?", tenant_id)
        self._state.execute("INSERT OR REPLACE INTO letters VALUES (?, ?)", (tenant_id, kind))
        return {"tenant_id": tenant_id, "sent": kind}

    def tool_close_job(self, flat_id):
        job = self._one("SELECT * FROM jobs WHERE flat = ?", flat_id)
        self._state.execute("DELETE FROM jobs WHERE flat = ?", (flat_id,))
        self._state.execute("UPDATE contractors SET open_jobs = open_jobs - 1 WHERE id = ?", (job["contractor"],))
        return {"closed": flat_id}

    def tool_raise_rent(self, tenant_id):
        return self.tool_send_letter(tenant_id, "warning")
