"""Designs that were mended, that hung and that the machinery failed are told apart, each as a share of all attempts."""

from __future__ import annotations

from typing import Any

from spadework.selfplay.score.scoring import CycleScores
from spadework.selfplay.score.seeds import estimate
from spadework.selfplay.summary import summarise
from spadework.types import Design, Episode, Fault, Group, Turn


def design(name: str, **changes: Any) -> Design:
    plain: dict[str, Any] = {
        **{"id": name, "cycle": 0, "slot": 0, "attempt": 0, "skill": "s", "document_id": "", "parents": ()},
        **{"prompt": "", "reply": "", "source": "", "segments": (), "findings": ("ENV001: a syntax error",)},
    }
    return Design(**(plain | changes))


def group(name: str, returns: list[float]) -> Group:
    turns = (Turn("o", "r", "a", 0.0),)
    episodes = [
        Episode(f"{name}/{i}", 0, name, "unhinted", i, i, turns, (), "terminated", value)
        for i, value in enumerate(returns)
    ]
    return Group(name, "unhinted", tuple(episodes))


def test_shares_of_attempts() -> None:
    designs = [
        design("a", environment_id="e", findings=(), ran=True),
        design("b", repaired=True),
        design("c", findings=("ENV205: 2.1 CPU seconds in one call",)),
        design("d", findings=("ENV205 hung",), ran=True),
        design("e", findings=("ENV2051: no such code",)),
        design("f", findings=(), fault=Fault("endpoint", "SERVER", "")),
        design("g", findings=(), fault=Fault("model", "ENGINE", "")),
        design("h", findings=(), fault=Fault("grader", "MODEL", "")),
    ]
    metrics = summarise(designs, (), (), CycleScores([], [], [], {}, {}), {})
    told = {
        name: metrics[f"designer/{name}"] for name in ("mended_share", "hung_share", "faulted_share", "valid_share")
    }
    assert told == {"mended_share": 1 / 8, "hung_share": 2 / 8, "faulted_share": 3 / 8, "valid_share": 1 / 5}
    assert (metrics["designer/attempts"], metrics["faults/other"]) == (8, 3)
    assert not any("share" in name for name in summarise((), (), (), CycleScores([], [], [], {}, {}), {}))


def test_origins_are_told_apart() -> None:
    groups = [group("mine", [1.0, 0.0]), group("drawn", [1.0, 1.0]), group("filler", [0.0, 0.0])]
    seen = {one.environment_id: estimate({"unhinted": one}) for one in groups}
    scored = CycleScores([], [], [], seen, {})
    metrics = summarise((), (), groups, scored, {"mine": "designed", "drawn": "fixed"})
    assert metrics["agent/designed_win_rate"] == 0.5
    assert metrics["agent/fixed_win_rate"] == 1.0
    assert metrics["agent/unhinted_win_rate"] == 0.5
    assert "agent/anchor_return" not in metrics and "agent/fixed_hinted_win_rate" not in metrics
