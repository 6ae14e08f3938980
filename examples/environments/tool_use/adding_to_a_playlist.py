import random


def tool(name, description, required=(), /, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


class AddingToAPlaylistEnv(ToolUseBaseEnv):
    """Files, execute: one call."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        song = rng.choice(["Rain", "Tide", "Ember", "Cloud"])
        where = rng.choice(["party", "sleep", "work"])
        self._state = {name: ["Intro"] for name in ("party", "sleep", "work")}
        goal = {**self._state, where: ["Intro", song]}
        self._user_messages = [f"Add the song {song} to the {where} playlist."]
        self._message_criteria = [lambda s: s == goal]
        self._plan = [[("add_song", {"playlist": where, "song": song})]]
        self._tools = [tool("add_song", "Add a song.", ["playlist", "song"], playlist=TEXT, song=TEXT)]
        return self._user_messages[0], {}

    def tool_add_song(self, playlist, song):
        if playlist not in self._state or song in self._state[playlist]:
            return {"error": "no such playlist, or the song is in it"}
        self._state[playlist].append(song)
        return {"songs": len(self._state[playlist])}
