import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


ROOM = {"type": "string", "enum": ["Elm", "Fir", "Oak"]}


class CalendarEnv(ToolUseBaseEnv):
    """Calendar, execute: create, move and cancel, where hours must not clash."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        titles = rng.sample(["Budget", "Hiring", "Roadmap", "Retro", "Design", "Support"], 4)
        days = rng.sample(range(1, 29), 4)
        events = {}
        for title, day in zip(titles[:3], days):
            events[f"E{rng.randint(100, 999)}"] = {"title": title, "day": day, "hour": rng.randint(9, 15), "room": rng.choice(["Elm", "Fir"])}
        ids = list(events)
        new_hour = rng.randint(9, 16)
        moved_day = days[3]
        self._state = {"events": events, "next": rng.randint(1000, 9000)}
        self._user_messages = [
            f"Put a meeting called {titles[3]} into room Oak on day {days[1]} at {new_hour}.",
            f"Move the {titles[0]} meeting to day {moved_day}, same hour and room.",
            f"Cancel the {titles[2]} meeting.",
        ]
        hour, room = events[ids[0]]["hour"], events[ids[0]]["room"]
        new = {"title": titles[3], "day": days[1], "hour": new_hour, "room": "Oak"}
        self._message_criteria = [
            lambda s: list(s["events"].values()).count(new) == 1,
            lambda s: s["events"].get(ids[0]) == {"title": titles[0], "day": moved_day, "hour": hour, "room": room},
            lambda s: ids[2] not in s["events"] and ids[1] in s["events"],
        ]
        self._plan = [
            [("create_event", new)],
            [("find_events", {"title": titles[0]}), ("move_event", {"event_id": ids[0], "day": moved_day, "hour": hour})],
            [("find_events", {"title": titles[2]}), ("cancel_event", {"event_id": ids[2]})],
        ]
        self._tools = [
            tool("create_event", "Book a room for one hour.", ["title", "day", "hour", "room"], title=TEXT, day=WHOLE, hour=WHOLE, room=ROOM),
            tool("find_events", "Events by title.", ["title"], title=TEXT),
            tool("events_of_day", "All events of a day.", ["day"], day=WHOLE),
            tool("move_event", "Give an event another day and hour.", ["event_id", "day", "hour"], event_id=TEXT, day=WHOLE, hour=WHOLE),
            tool("cancel_event", "Cancel an event.", ["event_id"], event_id=TEXT),
            tool("public_holidays", "Holidays of a month.", ["month"], month=WHOLE),
        ]
        return self._user_messages[0], {}

    def _clash(self, day, hour, room, but=None):
        return any((e["day"], e["hour"], e["room"]) == (day, hour, room) for i, e in self._state["events"].items() if i != but)

    def tool_create_event(self, title, day, hour, room):
        if not (1 <= day <= 28 and 8 <= hour <= 18) or self._clash(day, hour, room):
            return {"error": "outside of the calendar, or the room is taken"}
        event_id = f"E{self._state['next']}"
        self._state["next"] += 1
        self._state["events"][event_id] = {"title": title, "day": day, "hour": hour, "room": room}
        return {"event_id": event_id}

    def tool_find_events(self, title):
        return [{"event_id": i, **e} for i, e in self._state["events"].items() if e["title"].lower() == title.lower()]

    def tool_events_of_day(self, day):
        return [{"event_id": i, **e} for i, e in self._state["events"].items() if e["day"] == day]

    def tool_move_event(self, event_id, day, hour):
        event = self._state["events"].get(event_id)
        if event is None or self._clash(day, hour, event["room"], event_id):
            return {"error": "no such event, or the room is taken"}
        event["day"], event["hour"] = day, hour
        return {"event_id": event_id, **event}

    def tool_cancel_event(self, event_id):
        if event_id not in self._state["events"]:
            return {"error": "no such event"}
        del self._state["events"][event_id]
        return {"cancelled": event_id}

    def tool_public_holidays(self, month):
        return {"month": month, "holidays": []}
