import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


MODE = {"type": "string", "enum": ["off", "eco", "comfort"]}


class SmartHomeEnv(ToolUseBaseEnv):
    """Smart home, execute with error recovery: a locked device refuses until it is unlocked."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        rooms = rng.sample(["kitchen", "study", "hall", "attic", "porch"], 3)
        devices = {}
        for room in rooms:
            devices[f"lamp-{rng.randint(10, 99)}{room[0]}"] = {"room": room, "kind": "lamp", "on": rng.random() < 0.5, "locked": False}
            devices[f"heat-{rng.randint(10, 99)}{room[0]}"] = {"room": room, "kind": "heater", "mode": "eco", "target": 18, "locked": False}
        lamp = next(d for d, row in devices.items() if row["room"] == rooms[0] and row["kind"] == "lamp")
        heater = next(d for d, row in devices.items() if row["room"] == rooms[1] and row["kind"] == "heater")
        devices[lamp]["on"] = False
        devices[heater]["locked"] = True
        target = rng.randint(19, 24)
        self._state = {"devices": devices, "scene": None}
        scene = rng.choice(["movie", "dinner"])
        self._user_messages = [
            f"Turn on the lamp in the {rooms[0]}.",
            f"Set the heater in the {rooms[1]} to comfort at {target} degrees, and leave it as locked or unlocked as it was.",
            f"Start the {scene} scene.",
        ]
        self._message_criteria = [
            lambda s: s["devices"][lamp]["on"] is True,
            lambda s: (s["devices"][heater]["mode"], s["devices"][heater]["target"], s["devices"][heater]["locked"]) == ("comfort", target, True),
            lambda s: s["scene"] == scene,
        ]
        self._plan = [
            [("list_devices", {"room": rooms[0]}), ("switch_lamp", {"device_id": lamp, "on": True})],
            [
                ("list_devices", {"room": rooms[1]}),
                ("set_lock", {"device_id": heater, "locked": False}),
                ("set_heater", {"device_id": heater, "mode": "comfort", "target": target}),
                ("set_lock", {"device_id": heater, "locked": True}),
            ],
            [("start_scene", {"name": scene})],
        ]
        self._tools = [
            tool("list_devices", "Devices of a room.", ["room"], room=TEXT),
            tool("switch_lamp", "Turn a lamp on or off.", ["device_id", "on"], device_id=TEXT, on={"type": "boolean"}),
            tool("set_heater", "Set mode and target of a heater that is not locked.", ["device_id", "mode", "target"], device_id=TEXT, mode=MODE, target=WHOLE),
            tool("set_lock", "Lock or unlock a device.", ["device_id", "locked"], device_id=TEXT, locked={"type": "boolean"}),
            tool("start_scene", "Start a scene.", ["name"], name={"type": "string", "enum": ["movie", "dinner", "night"]}),
            tool("energy_report", "Energy used today."),
        ]
        return self._user_messages[0] + f" There are the rooms {', '.join(rooms)}.", {}

    def _device(self, device_id, kind=None):
        device = self._state["devices"].get(device_id)
        if device is None or kind not in (None, device["kind"]):
            raise ValueError("no such device of that kind")
        return device

    def tool_list_devices(self, room):
        found = [{"device_id": d, **row} for d, row in self._state["devices"].items() if row["room"] == room]
        return found or {"error": "no such room"}

    def tool_switch_lamp(self, device_id, on):
        self._device(device_id, "lamp")["on"] = on
        return {"device_id": device_id, "on": on}

    def tool_set_heater(self, device_id, mode, target):
        heater = self._device(device_id, "heater")
        if heater["locked"] or not 5 <= target <= 28:
            return {"error": "the heater is locked, or the target is out of range"}
        heater["mode"], heater["target"] = mode, target
        return {"device_id": device_id, "mode": mode, "target": target}

    def tool_set_lock(self, device_id, locked):
        self._device(device_id)["locked"] = locked
        return {"device_id": device_id, "locked": locked}

    def tool_start_scene(self, name):
        self._state["scene"] = name
        return {"scene": name}

    def tool_energy_report(self):
        return {"kwh": 7}
