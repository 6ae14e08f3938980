import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class MovingAPatientEnv(SqliteToolEnv):
    _schema = """
    CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE beds (id INTEGER PRIMARY KEY, patient INTEGER, ward TEXT);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        patients = list(zip(rng.sample(range(10, 99), 3), ["Ida", "Jo", "Kai"]))
        beds = [(n, row[0], "east") for n, row in zip(rng.sample(range(100, 999), 3), patients)]
        self._fill({"patients": patients, "beds": beds})
        n = rng.randrange(3)
        patient, bed, ward = patients[n], beds[n], rng.choice(["west", "north"])
        self._user_messages = [f"{patient[1]} moves: set the ward of the bed to {ward}."]
        self._message_criteria = [f"SELECT ward = '{ward}' FROM beds WHERE id = {bed[0]}"]
        self._expected_changes = {"beds": {"added": [(*bed[:2], ward)], "removed": [bed]}}
        self._plan = [[
            ("find_patient", {"name": patient[1]}),
            ("find_bed", {"patient_id": patient[0]}),
            ("set_ward", {"bed_id": bed[0], "ward": ward}),
        ]]
        self._tools = [
            tool("find_patient", "Number of a patient.", name=TEXT),
            tool("find_bed", "The bed of a patient.", patient_id=WHOLE),
            tool("set_ward", "Set the ward of a bed.", bed_id=WHOLE, ward=TEXT),
        ]
        return self._user_messages[0], {}

    def tool_find_patient(self, name):
        return self.query("SELECT * FROM patients WHERE name = ?", name)

    def tool_find_bed(self, patient_id):
        return self.query("SELECT * FROM beds WHERE patient = ?", patient_id)

    def tool_set_ward(self, bed_id, ward):
        self._state.execute("UPDATE beds SET ward = ? WHERE id = ?", (ward, bed_id))
        return self.query("SELECT * FROM beds WHERE id = ?", bed_id)
