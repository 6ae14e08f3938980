import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class ClosingATicketEnv(ToolUseBaseEnv):
    """Support tickets, execute: two instructions, a tool for each."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        one, other = rng.sample([11, 12, 13, 14], 2)
        self._state = {ticket: "new" for ticket in (11, 12, 13, 14)}
        goal = {**self._state, one: "closed", other: "urgent"}
        self._user_messages = [f"Close ticket {one}.", f"Ticket {other} is urgent, mark it."]
        self._message_criteria = [lambda s: s[one] == "closed", lambda s: s == goal]
        self._plan = [[("close_ticket", {"ticket": one})], [("mark_ticket", {"ticket": other})]]
        self._tools = [
            tool("close_ticket", "Close a ticket.", ["ticket"], ticket=WHOLE),
            tool("mark_ticket", "Mark a ticket as urgent.", ["ticket"], ticket=WHOLE),
        ]
        return self._user_messages[0], {}

    def tool_close_ticket(self, ticket):
        return self._turn(ticket, "closed")

    def tool_mark_ticket(self, ticket):
        return self._turn(ticket, "urgent")

    def _turn(self, ticket, to):
        if self._state.get(ticket) != "new":
            return {"error": "no such ticket, or not new"}
        self._state[ticket] = to
        return {"ok": True}
