"""Episodes as text: what the environment said, what was answered, and what it paid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from spadework.types import Episode


def transcripts(names: Mapping[str, str], episodes: Sequence[Episode]) -> Iterator[str]:
    """Lines of every episode in turn; ``names`` says what each environment is called, by id."""
    for episode in episodes:
        yield f"=== {names[episode.environment_id]}, {episode.arm}, seed {episode.seed} ==="
        for number, turn in enumerate(episode.turns, 1):
            yield f"--- turn {number}: the environment"
            yield turn.observation
            yield f"--- turn {number}: the agent{' (malformed)' if turn.malformed else ''}"
            yield turn.reply
        if episode.last_observation:
            yield "--- the environment"
            yield episode.last_observation
        yield f"--- {_end(episode)}"
        yield ""


def _end(episode: Episode) -> str:
    if episode.fault is not None:
        return f"{episode.ending}: {episode.fault.code} {episode.fault.message}"
    paid = "no return" if math.isnan(episode.return_) else f"return {episode.return_:g}"
    return f"{episode.ending} after {len(episode.turns)} turns: {paid}"
