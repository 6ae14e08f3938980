import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
PEOPLE = "Aoife Bram Cees Dora Evan Fleur Gwen Hamish Iona Joost Keir Lena".split()
KINDS = ["chainsaw", "tiller", "mixer", "hoist"]


class ToolHireEnv(SqliteToolEnv):
    """A tool hire, dependent records: customer, hire and machine lead to the rate from which the bill is computed."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE machines (id INTEGER PRIMARY KEY, kind TEXT, daily_rate INTEGER, state TEXT);
    CREATE TABLE hires (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id),
                        machine INTEGER REFERENCES machines (id), days INTEGER);
    CREATE TABLE bills (hire INTEGER PRIMARY KEY REFERENCES hires (id), amount INTEGER);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        customers = [(n, name) for n, name in zip(rng.sample(range(100, 999), 12), PEOPLE)]
        machines = [
            (n, KINDS[i % 4], rng.randint(11, 49), "out" if i < 14 else rng.choice(["in", "in repair"]))
            for i, n in enumerate(rng.sample(range(10, 99), 20))
        ]
        hires = [
            (n, customers[i % 7][0], machines[i][0], None) for i, n in enumerate(rng.sample(range(1000, 9999), 14))
        ]
        old = [
            (n, rng.choice(customers)[0], rng.choice(machines)[0], rng.randint(1, 9))
            for n in rng.sample(range(10000, 99999), 10)
        ]
        bills = [(row[0], 30 * row[3]) for row in old]
        self._fill({"customers": customers, "machines": machines, "hires": [*hires, *old], "bills": bills})
        hire, days, fee = rng.choice(hires), rng.randint(3, 12), rng.randint(5, 25)
        name = next(row[1] for row in customers if row[0] == hire[1])
        machine = next(row for row in machines if row[0] == hire[2])
        amount = days * machine[2] + fee
        self._user_messages = [
            f"{name} brings the {machine[1]} back after {days} days, dirty. Take it back, send the machine to repair, and "
            f"bill the days at its daily rate with {fee} for cleaning on top."
        ]
        self._message_criteria = [
            f"SELECT days = {days} FROM hires WHERE id = {hire[0]}",
            f"SELECT state = 'in repair' FROM machines WHERE id = {machine[0]}",
            f"SELECT amount = {amount} FROM bills WHERE hire = {hire[0]}",
        ]
        self._expected_changes = {
            "hires": {"added": [(*hire[:3], days)], "removed": [hire]},
            "machines": {"added": [(*machine[:3], "in repair")], "removed": [machine]},
            "bills": {"added": [(hire[0], amount)], "removed": []},
        }
        self._plan = [
            [
                ("find_customer", {"name": name}),
                ("open_hires", {"customer_id": hire[1]}),
                ("show_machine", {"machine_id": machine[0]}),
                ("take_back", {"hire_id": hire[0], "days": days}),
                ("set_state", {"machine_id": machine[0], "state": "in repair"}),
                ("bill", {"hire_id": hire[0], "amount": amount}),
            ]
        ]
        self._tools = [
            tool("find_customer", "Number of a customer.", name=TEXT),
            tool("open_hires", "What a customer has on hire now.", customer_id=WHOLE),
            tool("show_machine", "Daily rate and state of a machine.", machine_id=WHOLE),
            tool("take_back", "End a hire after so many days; its machine is in.", hire_id=WHOLE, days=WHOLE),
            tool("set_state", "State of a machine that is not out.", machine_id=WHOLE, state={"type": "string", "enum": ["in", "in repair"]}),
            tool("bill", "Bill a hire that has ended.", hire_id=WHOLE, amount=WHOLE),
            tool("set_rate", "Change the daily rate of a machine.", machine_id=WHOLE, daily_rate=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_customer(self, name):
        return self._one("SELECT * FROM customers WHERE name = ? COLLATE NOCASE", name)

    def tool_open_hires(self, customer_id):
        sql = """SELECT hires.id, machine AS machine_id, kind FROM hires JOIN machines ON machine = machines.id
                 WHERE customer = ? AND days IS NULL"""
        return self.query(sql, customer_id)

    def tool_show_machine(self, machine_id):
        return self._one("SELECT * FROM machines WHERE id = ?", machine_id)

    def tool_take_back(self, hire_id, days):
        hire = self._one("SELECT * FROM hires WHERE id = ? AND days IS NULL", hire_id)
        if days < 1:
            raise ValueError("a hire lasts a day or more")
        self._state.execute("UPDATE hires SET days = ? WHERE id = ?", (days, hire_id))
        self._state.execute("UPDATE machines SET state = 'in' WHERE id = ?", (hire["machine"],))
        return {"hire_id": hire_id, "days": days}

    def tool_set_state(self, machine_id, state):
        self._one("SELECT * FROM machines WHERE id = ? AND state != 'out'", machine_id)
        self._state.execute("UPDATE machines SET state = ? WHERE id = ?", (state, machine_id))
        return {"machine_id": machine_id, "state": state}

    def tool_bill(self, hire_id, amount):
        self._one("SELECT * FROM hires WHERE id = ?", hire_id)
        if amount < 1 or self.query("SELECT * FROM bills WHERE hire = ?", hire_id):
            raise ValueError("it is billed already, or for nothing")
        self._state.execute("INSERT INTO bills VALUES (?, ?)", (hire_id, amount))
        if self.query("SELECT * FROM hires WHERE id = ? AND days IS NULL", hire_id):
            return {"error": "the hire has not ended"}
        return {"hire_id": hire_id, "amount": amount}

    def tool_set_rate(self, machine_id, daily_rate):
        self._one("SELECT * FROM machines WHERE id = ?", machine_id)
        if daily_rate < 1:
            raise ValueError("nothing is free")
        self._state.execute("UPDATE machines SET daily_rate = ? WHERE id = ?", (daily_rate, machine_id))
        return {"machine_id": machine_id, "daily_rate": daily_rate}
