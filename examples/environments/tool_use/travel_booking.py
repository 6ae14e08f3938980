import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


CABIN = {"type": "string", "enum": ["economy", "business"]}


class TravelBookingEnv(ToolUseBaseEnv):
    """Travel booking, execute: every value is given, the flights have to be found by them."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        home, away, third = rng.sample(["Oslo", "Lyon", "Porto", "Graz", "Turin", "Gdansk"], 3)
        flights = {}
        for origin, target in ((home, away), (away, home), (home, third), (third, home)):
            for day in rng.sample(range(1, 28), 3):
                flights[f"F{rng.randint(1000, 9999)}"] = {
                    "from": origin, "to": target, "day": day, "price": rng.randint(60, 400), "seats": rng.randint(0, 3) or 2,
                }
        out = [f for f, row in flights.items() if (row["from"], row["to"]) == (home, away)]
        back = [f for f, row in flights.items() if (row["from"], row["to"]) == (away, home)]
        first = rng.choice(out)
        cheap = min(back, key=lambda f: (flights[f]["price"], f))
        name = rng.choice(["Ines Roth", "Omar Said", "Piet Maas", "Rosa Vega"])
        self._state = {"flights": flights, "bookings": {}, "next": rng.randint(300, 800)}
        bags = rng.randint(1, 3)
        day = flights[first]["day"]
        booking = f"B{self._state['next']}"
        self._user_messages = [
            f"Book a seat in economy for {name} from {home} to {away} on day {day}.",
            f"And the cheapest flight back from {away} to {home}, in business.",
            f"Add {bags} bag{'s' * (bags > 1)} to the flight out.",
        ]
        self._message_criteria = [
            lambda s: self._booked(s, name, first, "economy") == 1,
            lambda s: self._booked(s, name, cheap, "business") == 1 and len(s["bookings"]) == 2,
            lambda s: [b["bags"] for b in s["bookings"].values() if b["flight_id"] == first] == [bags],
        ]
        self._plan = [
            [("search_flights", {"origin": home, "target": away}), ("book_flight", {"flight_id": first, "passenger": name, "cabin": "economy"})],
            [("search_flights", {"origin": away, "target": home}), ("book_flight", {"flight_id": cheap, "passenger": name, "cabin": "business"})],
            [("add_bags", {"booking_id": booking, "bags": bags})],
        ]
        self._tools = [
            tool("search_flights", "Flights between two cities.", ["origin", "target"], origin=TEXT, target=TEXT),
            tool("book_flight", "Book one seat.", ["flight_id", "passenger", "cabin"], flight_id=TEXT, passenger=TEXT, cabin=CABIN),
            tool("add_bags", "Set the number of bags of a booking.", ["booking_id", "bags"], booking_id=TEXT, bags=WHOLE),
            tool("cancel_booking", "Cancel a booking.", ["booking_id"], booking_id=TEXT),
            tool("list_bookings", "Bookings of a passenger.", ["passenger"], passenger=TEXT),
            tool("city_weather", "Weather in a city.", ["city"], city=TEXT),
        ]
        return self._user_messages[0], {}

    @staticmethod
    def _booked(state, name, flight_id, cabin):
        wanted = (name, flight_id, cabin)
        return sum((b["passenger"], b["flight_id"], b["cabin"]) == wanted for b in state["bookings"].values())

    def tool_search_flights(self, origin, target):
        found = [{"flight_id": f, **row} for f, row in self._state["flights"].items() if (row["from"], row["to"]) == (origin, target)]
        return found or {"error": f"no flight from {origin} to {target}"}

    def tool_book_flight(self, flight_id, passenger, cabin):
        flight = self._state["flights"].get(flight_id)
        if flight is None or not flight["seats"]:
            return {"error": "no such flight, or it is full"}
        flight["seats"] -= 1
        booking_id = f"B{self._state['next']}"
        self._state["next"] += 1
        self._state["bookings"][booking_id] = {"flight_id": flight_id, "passenger": passenger, "cabin": cabin, "bags": 0}
        return {"booking_id": booking_id}

    def _booking(self, booking_id):
        if booking_id not in self._state["bookings"]:
            raise ValueError("no such booking")
        return self._state["bookings"][booking_id]

    def tool_add_bags(self, booking_id, bags):
        if not 0 <= bags <= 3:
            return {"error": "0 to 3 bags"}
        self._booking(booking_id)["bags"] = bags
        return {"booking_id": booking_id, "bags": bags}

    def tool_cancel_booking(self, booking_id):
        self._booking(booking_id)
        del self._state["bookings"][booking_id]
        return {"cancelled": booking_id}

    def tool_list_bookings(self, passenger):
        return [{"booking_id": b, **row} for b, row in self._state["bookings"].items() if row["passenger"] == passenger]

    def tool_city_weather(self, city):
        return {"city": city, "weather": "mild"}
