import random


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
PUPILS = "Aron Birte Cyril Dunja Elmo Flora Goran Hanne Ilse Jonte Karim Lotte".split()
FOODS = ["nuts", "milk", "egg"]
DAYS = ["Monday", "Tuesday", "Wednesday"]
RULES = [
    (1, "allergy", "Whoever turns out to be allergic has it entered in the list of pupils."),
    (2, "allergy", "Then every meal booked for the child that contains it is swapped for the safe dish of that day."),
    (3, "allergy", "Meals without it stay booked as they are."),
    (4, "absence", "A child who is away has its meals cancelled."),
]


class SchoolCanteenEnv(SqliteToolEnv):
    """A school canteen, implicit intent: an allergy is told, and the rules say what is to be done about it."""

    partial_credit = True
    side_effect_reward = -0.5
    _schema = """
    CREATE TABLE rules (id INTEGER PRIMARY KEY, topic TEXT, text TEXT);
    CREATE TABLE pupils (id INTEGER PRIMARY KEY, name TEXT, allergy TEXT);
    CREATE TABLE dishes (id INTEGER PRIMARY KEY, day TEXT, name TEXT, contains TEXT);
    CREATE TABLE meals (id INTEGER PRIMARY KEY, pupil INTEGER REFERENCES pupils (id),
                        dish INTEGER REFERENCES dishes (id));
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        pupils = [(n, name, "") for n, name in zip(rng.sample(range(100, 999), 12), PUPILS)]
        kinds = [(day, f"{food} bake", food) for day in DAYS for food in FOODS]
        kinds += [(day, "rice and greens", "") for day in DAYS]
        dishes = [(n, *kind) for n, kind in zip(rng.sample(range(10, 99), 12), kinds)]
        child, food = rng.choice(pupils), rng.choice(FOODS)
        spared = rng.choice(DAYS)
        meals = []
        for pupil, day in [(pupil, day) for pupil in pupils for day in DAYS]:
            wanted = food if day != spared else rng.choice([other for other in FOODS if other != food])
            eaten = wanted if pupil == child else rng.choice(FOODS)
            meals.append((len(meals), pupil[0], next(row[0] for row in dishes if row[1] == day and row[3] == eaten)))
        numbers = rng.sample(range(1000, 9999), len(meals))
        meals = [(number, *row[1:]) for number, row in zip(numbers, meals)]
        self._fill({"rules": RULES, "pupils": pupils, "dishes": dishes, "meals": meals})
        dish = {row[0]: row for row in dishes}
        bad = [row for row in meals if row[1] == child[0] and dish[row[2]][3] == food]
        safe = {row[1]: row[0] for row in dishes if not row[3]}
        swapped = [(row[0], row[1], safe[dish[row[2]][1]]) for row in bad]
        self._user_messages = [f"The doctor says that {child[1]} must not eat {food} any more. Please see to it."]
        self._message_criteria = [
            f"SELECT allergy = '{food}' FROM pupils WHERE id = {child[0]}",
            *(f"SELECT dish = {row[2]} FROM meals WHERE id = {row[0]}" for row in swapped),
        ]
        self._expected_changes = {
            "pupils": {"added": [(*child[:2], food)], "removed": [child]},
            "meals": {"added": sorted(swapped, key=repr), "removed": sorted(bad, key=repr)},
        }
        self._plan = [
            [
                ("read_rules", {"topic": "allergy"}),
                ("find_pupil", {"name": child[1]}),
                ("list_meals", {"pupil_id": child[0]}),
                *(("list_dishes", {"day": dish[row[2]][1]}) for row in bad),
                ("enter_allergy", {"pupil_id": child[0], "food": food}),
                *(("swap_meal", {"meal_id": row[0], "dish_id": row[2]}) for row in swapped),
            ]
        ]
        self._tools = [
            tool("read_rules", "Rules of the canteen.", topic={"type": "string", "enum": ["allergy", "absence"]}),
            tool("find_pupil", "Number of a pupil.", name=TEXT),
            tool("list_meals", "Meals booked for a pupil, with day and dish.", pupil_id=WHOLE),
            tool("list_dishes", "Dishes of a day, and what they contain.", day={"type": "string", "enum": DAYS}),
            tool("enter_allergy", "Enter what a pupil must not eat.", pupil_id=WHOLE, food={"type": "string", "enum": FOODS}),
            tool("swap_meal", "Book another dish of the same day.", meal_id=WHOLE, dish_id=WHOLE),
            tool("cancel_meal", "Cancel a meal.", meal_id=WHOLE),
        ]
        return self._user_messages[0], {}

    def _one(self, sql, *values):
        rows = self.query(sql, *values)
        if not rows:
            raise ValueError("there is no such record")
        return rows[0]

    def tool_read_rules(self, topic):
        return [row["text"] for row in self.query("SELECT text FROM rules WHERE topic = ? ORDER BY id", topic)]

    def tool_find_pupil(self, name):
        return self._one("SELECT * FROM pupils WHERE name = ? COLLATE NOCASE", name)

    def tool_list_meals(self, pupil_id):
        sql = "SELECT meals.id, day, name, contains FROM meals JOIN dishes ON dish = dishes.id WHERE pupil = ?"
        return self.query(sql, pupil_id)

    def tool_list_dishes(self, day):
        return self.query("SELECT id, name, contains FROM dishes WHERE day = ?", day)

    def tool_enter_allergy(self, pupil_id, food):
        self._one("SELECT * FROM pupils WHERE id = ?", pupil_id)
        self._state.execute("UPDATE pupils SET allergy = ? WHERE id = ?", (food, pupil_id))
        return {"pupil_id": pupil_id, "allergy": food}

    def tool_swap_meal(self, meal_id, dish_id):
        old = self._one("SELECT day FROM meals JOIN dishes ON dish = dishes.id WHERE meals.id = ?", meal_id)
        if self._one("SELECT day FROM dishes WHERE id = ?", dish_id) != old:
            raise ValueError("that dish is of another day")
        self._state.execute("UPDATE meals SET dish = ? WHERE id = ?", (dish_id, meal_id))
        return {"meal_id": meal_id, "dish_id": dish_id}

    def tool_cancel_meal(self, meal_id):
        self._one("SELECT * FROM meals WHERE id = ?", meal_id)
        self._state.execute("DELETE FROM meals WHERE id = ?", (meal_id,))
        return {"cancelled": meal_id}
