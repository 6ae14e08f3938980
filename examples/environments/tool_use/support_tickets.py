import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


LEVEL = {"type": "string", "enum": ["low", "normal", "urgent"]}


class SupportTicketsEnv(ToolUseBaseEnv):
    """Support tickets, irrelevant request: one wish is outside of every tool and must be left alone."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        topics = rng.sample(["printer jams", "login fails", "screen flickers", "invoice wrong", "battery dies"], 4)
        agents = rng.sample(["Kim", "Lou", "Max", "Nell"], 3)
        tickets = {}
        for topic in topics:
            tickets[f"T{rng.randint(1000, 9999)}"] = {"topic": topic, "level": "normal", "agent": None, "status": "open", "age": 0}
        ages = rng.sample(range(1, 60), 4)
        for row, age in zip(tickets.values(), ages):
            row["age"] = age
        ids = list(tickets)
        oldest = max(ids, key=lambda t: tickets[t]["age"])
        done = rng.choice([t for t in ids if t != oldest])
        self._state = {"tickets": tickets, "agents": agents}
        self._user_messages = [
            f"Give the oldest open ticket to {agents[0]} and make it urgent.",
            rng.choice(["Order pizza for the team.", "Raise everybody's pay.", "Repair the coffee machine."]),
            f"The ticket about '{tickets[done]['topic']}' is solved. Close it.",
        ]
        others = [t for t in ids if t not in (oldest, done)]
        untouched = {t: dict(tickets[t]) for t in others}
        self._message_criteria = [
            lambda s: (s["tickets"][oldest]["agent"], s["tickets"][oldest]["level"]) == (agents[0], "urgent"),
            lambda s: {t: s["tickets"][t] for t in others} == untouched and len(s["tickets"]) == 4,
            lambda s: s["tickets"][done]["status"] == "closed" and s["tickets"][oldest]["status"] == "open",
        ]
        self._plan = [
            [("list_tickets", {"status": "open"}), ("assign", {"ticket_id": oldest, "agent": agents[0]}), ("set_level", {"ticket_id": oldest, "level": "urgent"})],
            [],
            [("close_ticket", {"ticket_id": done})],
        ]
        self._tools = [
            tool("list_tickets", "Tickets by status, with their age in days.", ["status"], status={"type": "string", "enum": ["open", "closed"]}),
            tool("assign", "Give a ticket to an agent.", ["ticket_id", "agent"], ticket_id=TEXT, agent=TEXT),
            tool("set_level", "Set how urgent a ticket is.", ["ticket_id", "level"], ticket_id=TEXT, level=LEVEL),
            tool("close_ticket", "Close an open ticket.", ["ticket_id"], ticket_id=TEXT),
            tool("open_ticket", "Open a new ticket.", ["topic"], topic=TEXT),
            tool("shift_plan", "Who works on a day.", ["day"], day=TEXT),
        ]
        return self._user_messages[0] + " Wishes that no tool can serve are answered without a call.", {}

    def _ticket(self, ticket_id):
        ticket = self._state["tickets"].get(ticket_id)
        if ticket is None or ticket["status"] != "open":
            raise ValueError("no such open ticket")
        return ticket

    def tool_list_tickets(self, status):
        return [{"ticket_id": t, **row} for t, row in self._state["tickets"].items() if row["status"] == status]

    def tool_assign(self, ticket_id, agent):
        if agent not in self._state["agents"]:
            return {"error": "no such agent"}
        self._ticket(ticket_id)["agent"] = agent
        return {"ticket_id": ticket_id, "agent": agent}

    def tool_set_level(self, ticket_id, level):
        self._ticket(ticket_id)["level"] = level
        return {"ticket_id": ticket_id, "level": level}

    def tool_close_ticket(self, ticket_id):
        self._ticket(ticket_id)["status"] = "closed"
        return {"ticket_id": ticket_id, "status": "closed"}

    def tool_open_ticket(self, topic):
        ticket_id = f"N{len(self._state['tickets'])}"
        self._state["tickets"][ticket_id] = {"topic": topic, "level": "normal", "agent": None, "status": "open", "age": 0}
        return {"ticket_id": ticket_id}

    def tool_shift_plan(self, day):
        return {"day": day, "agents": self._state["agents"]}
