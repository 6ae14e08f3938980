import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


STATUS = {"type": "string", "enum": ["todo", "doing", "done"]}


class ProjectTrackerEnv(SqliteToolEnv):
    """Project tracker on a database, read-then-write: the whole difference of the final state is compared."""

    _schema = """
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT, status TEXT, owner INTEGER, points INTEGER);
    """

    def reset(self, seed=None):
        rng = random.Random(seed)
        people = list(zip(rng.sample(range(10, 99), 3), rng.sample(["Ana", "Bo", "Cleo", "Dan", "Edda"], 3)))
        titles = rng.sample(["Logo", "Search", "Login", "Export", "Charts", "Tests"], 5)
        points = rng.sample(range(1, 14), 5)
        numbers = rng.sample(range(100, 999), 5)
        tasks = [(n, t, "todo" if i else "doing", people[i % 3][0], p) for i, (n, t, p) in enumerate(zip(numbers, titles, points))]
        self._fill({"people": people, "tasks": tasks})
        done, moved = tasks[0], max(tasks[1:], key=lambda row: row[4])
        target = next(p for p in people if p[0] != moved[3])
        extra = rng.choice(["Billing", "Themes", "Mobile"])
        size = rng.randint(2, 8)
        number = max(numbers) + 1
        self._user_messages = [
            f"The task {titles[0]} is finished. Mark it as done.",
            f"Give the biggest task that is still to do to {target[1]}.",
            f"Add a task {extra} of {size} points for {people[0][1]}.",
        ]
        self._message_criteria = [
            f"SELECT status = 'done' FROM tasks WHERE id = {done[0]}",
            f"SELECT owner = {target[0]} FROM tasks WHERE id = {moved[0]}",
            f"SELECT COUNT(*) = 1 FROM tasks WHERE title = '{extra}' AND points = {size} AND owner = {people[0][0]}",
        ]
        after = [(*done[:2], "done", *done[3:]), (*moved[:3], target[0], moved[4]), (number, extra, "todo", people[0][0], size)]
        self._expected_changes = {"tasks": {"added": sorted(after, key=repr), "removed": sorted([done, moved], key=repr)}}
        self._plan = [
            [("list_tasks", {"status": "doing"}), ("set_status", {"task_id": done[0], "status": "done"})],
            [("list_tasks", {"status": "todo"}), ("list_people", {}), ("assign", {"task_id": moved[0], "person_id": target[0]})],
            [("add_task", {"title": extra, "points": size, "person_id": people[0][0]})],
        ]
        self._tools = [
            tool("list_tasks", "Tasks of a status.", ["status"], status=STATUS),
            tool("list_people", "Everybody with their numbers."),
            tool("set_status", "Set the status of a task.", ["task_id", "status"], task_id=WHOLE, status=STATUS),
            tool("assign", "Give a task to a person.", ["task_id", "person_id"], task_id=WHOLE, person_id=WHOLE),
            tool("add_task", "Add a task that is to do.", ["title", "points", "person_id"], title=TEXT, points=WHOLE, person_id=WHOLE),
            tool("burn_down", "Points left to do."),
        ]
        return self._user_messages[0], {}

    def _known(self, table, number):
        if not self.query(f"SELECT id FROM {table} WHERE id = ?", number):
            raise ValueError(f"no such number in {table}")

    def tool_list_tasks(self, status):
        return self.query("SELECT * FROM tasks WHERE status = ? ORDER BY id", status)

    def tool_list_people(self):
        return self.query("SELECT * FROM people ORDER BY id")

    def tool_set_status(self, task_id, status):
        self._known("tasks", task_id)
        self._state.execute("UPDATE tasks SET status = ? WHERE id = ?", (status, task_id))
        return {"task_id": task_id, "status": status}

    def tool_assign(self, task_id, person_id):
        self._known("tasks", task_id)
        self._known("people", person_id)
        self._state.execute("UPDATE tasks SET owner = ? WHERE id = ?", (person_id, task_id))
        return {"task_id": task_id, "owner": person_id}

    def tool_add_task(self, title, points, person_id):
        self._known("people", person_id)
        number = self.query("SELECT MAX(id) + 1 AS n FROM tasks")[0]["n"]
        self._state.execute("INSERT INTO tasks VALUES (?, ?, 'todo', ?, ?)", (number, title, person_id, points))
        return {"task_id": number}

    def tool_burn_down(self):
        return self.query("SELECT SUM(points) AS points FROM tasks WHERE status != 'done'")[0]
