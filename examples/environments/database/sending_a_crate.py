import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class SendingACrateEnv(SqliteToolEnv):
    _schema = """
    CREATE TABLE farms (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE crates (id INTEGER PRIMARY KEY, farm INTEGER, market TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        farms = list(zip(rng.sample(range(10, 99), 3), ["Hill", "Dale", "Moor"]))
        crates = [(n, row[0], "none") for n, row in zip(rng.sample(range(100, 999), 3), farms)]
        self._fill({"farms": farms, "crates": crates})
        n = rng.randrange(3)
        farm, crate, market = farms[n], crates[n], rng.choice(["Leeds", "York"])
        self._user_messages = [f"Set the market of {farm[1]}'s crate to {market}."]
        self._message_criteria = [f"SELECT market = '{market}' FROM crates WHERE id = {crate[0]}"]
        self._expected_changes = {"crates": {"added": [(*crate[:2], market)], "removed": [crate]}}
        self._plan = [[
            ("find_farm", {"name": farm[1]}),
            ("find_crate", {"farm_id": farm[0]}),
            ("set_market", {"crate_id": crate[0], "market": market}),
        ]]
        self._tools = [
            tool("find_farm", "Number of a farm.", name=TEXT),
            tool("find_crate", "The crate of a farm.", farm_id=WHOLE),
            tool("set_market", "Set the market of a crate.", crate_id=WHOLE, market=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_find_farm(self, name):
        return self.query("SELECT * FROM farms WHERE name = ?", name)

    def tool_find_crate(self, farm_id):
        return self.query("SELECT * FROM crates WHERE farm = ?", farm_id)

    def tool_set_market(self, crate_id, market):
        self._state.execute("UPDATE crates SET market = ? WHERE id = ?", (market, crate_id))
        return self.query("SELECT * FROM crates WHERE id = ?", crate_id)
