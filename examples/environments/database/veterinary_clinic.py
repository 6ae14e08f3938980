import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
DAYS = ["Monday", "Tuesday"]
KINDS = ["dog", "cat", "parrot", "tortoise"]
OWNERS = "Abel Bruno Carla Dina Elif Farid Greta Hugo Ines Jarek".split()
PETS = "Ash Bean Clay Dot Echo Fig Gus Hazel Inka Juno Koko Lark Moss Nut Opal Pip".split()


class VeterinaryClinicEnv(SqliteToolEnv):
    """A clinic, dependent records: owner, pet, vet and slot lead from one to the next."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT, phone TEXT);
    CREATE TABLE pets (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owners (id), name TEXT, kind TEXT);
    CREATE TABLE vets (id INTEGER PRIMARY KEY, name TEXT, treats TEXT);
    CREATE TABLE slots (id INTEGER PRIMARY KEY, vet INTEGER REFERENCES vets (id), day TEXT, hour INTEGER,
                        pet INTEGER REFERENCES pets (id));
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        owners = [(n, name, f"0{rng.randint(100, 999)}-{n}") for n, name in zip(rng.sample(range(100, 999), 10), OWNERS)]
        pets = [
            (n, owners[i % 10][0], name, rng.choice(KINDS))
            for i, (n, name) in enumerate(zip(rng.sample(range(1000, 9999), 16), PETS))
        ]
        vets = [(n, name, kind) for n, name, kind in zip(rng.sample(range(10, 99), 4), "Wolf Berg Stein Feld".split(), KINDS)]
        times = [(vet[0], day, hour) for vet in vets for day in DAYS for hour in (9, 11, 14, 16)]
        slots = [(n, *time, None) for n, time in zip(rng.sample(range(10000, 99999), len(times)), times)]
        busy = rng.sample([i for i, row in enumerate(slots) if row[3] != 16], 8)
        for i, pet in zip(busy, rng.sample(pets[1:], 8)):
            slots[i] = (*slots[i][:4], pet[0])
        self._fill({"owners": owners, "pets": pets, "vets": vets, "slots": slots})
        owner, pet, day = owners[0], pets[0], rng.choice(DAYS)
        vet = next(row for row in vets if row[2] == pet[3])
        free = [row for row in slots if row[1] == vet[0] and row[2] == day and row[4] is None]
        slot = min(free, key=lambda row: row[3])
        phone = f"0{rng.randint(1000, 9999)}"
        self._user_messages = [
            f"{owner[1]} rang about {pet[2]}: book the earliest free hour on {day} with the vet who treats such animals, "
            f"and note the new telephone number {phone}."
        ]
        self._message_criteria = [
            f"SELECT pet = {pet[0]} FROM slots WHERE id = {slot[0]}",
            f"SELECT phone = '{phone}' FROM owners WHERE id = {owner[0]}",
        ]
        self._expected_changes = {
            "slots": {"added": [(*slot[:4], pet[0])], "removed": [slot]},
            "owners": {"added": [(owner[0], owner[1], phone)], "removed": [owner]},
        }
        self._plan = [
            [
                ("find_owner", {"name": owner[1]}),
                ("list_pets", {"owner_id": owner[0]}),
                ("find_vet", {"kind": pet[3]}),
                ("free_slots", {"vet_id": vet[0], "day": day}),
                ("book_slot", {"slot_id": slot[0], "pet_id": pet[0]}),
                ("set_phone", {"owner_id": owner[0], "phone": phone}),
            ]
        ]
        self._tools = [
            tool("find_owner", "Number and telephone of an owner.", name=TEXT),
            tool("list_pets", "Animals of an owner.", owner_id=WHOLE),
            tool("find_vet", "The vet who treats a kind of animal.", kind={"type": "string", "enum": KINDS}),
            tool("free_slots", "Free hours of a vet.", vet_id=WHOLE, day={"type": "string", "enum": DAYS}),
            tool("book_slot", "Give a free hour to an animal.", slot_id=WHOLE, pet_id=WHOLE),
            tool("clear_slot", "Cancel what is booked in an hour.", slot_id=WHOLE),
            tool("set_phone", "Replace an owner's telephone number.", owner_id=WHOLE, phone=TEXT),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_find_owner(self, name):
        return self._one("SELECT * FROM owners WHERE name = ? COLLATE NOCASE", name)

    def tool_list_pets(self, owner_id):
        return self.query("SELECT * FROM pets WHERE owner = ?", owner_id)

    def tool_find_vet(self, kind):
        return self._one("SELECT * FROM vets WHERE treats = ?", kind)

    def tool_free_slots(self, vet_id, day):
        return self.query("SELECT id, hour FROM slots WHERE vet = ? AND day = ? AND pet IS NULL", vet_id, day)

    def tool_book_slot(self, slot_id, pet_id):
        self._one("SELECT * FROM slots WHERE id = ? AND pet IS NULL", slot_id)
        self._one("SELECT * FROM pets WHERE id = ?", pet_id)
        self._state.execute("UPDATE slots SET pet = ? WHERE id = ?", (pet_id, slot_id))
        return {"slot_id": slot_id, "pet_id": pet_id}

    def tool_clear_slot(self, slot_id):
        self._one("SELECT * FROM slots WHERE id = ? AND pet IS NOT NULL", slot_id)
        self._state.execute("UPDATE slots SET pet = NULL WHERE id = ?", (slot_id,))
        return {"cleared": slot_id}

    def tool_set_phone(self, owner_id, phone):
        self._one("SELECT * FROM owners WHERE id = ?", owner_id)
        self._state.execute("UPDATE owners SET phone = ? WHERE id = ?", (phone, owner_id))
        return {"owner_id": owner_id, "phone": phone}
