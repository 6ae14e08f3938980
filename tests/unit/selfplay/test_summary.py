"""Designs that were mended, that hung and that the machinery failed are told apart, each as a share of all attempts."""

from __future__ import annotations

from typing import Any

from spadework.selfplay.score.scoring import CycleScores
from spadework.selfplay.summary import summarise
from spadework.types import Design, Fault


def design(name: str, **changes: Any) -> Design:
    plain: dict[str, Any] = {
        **{"id": name, "cycle": 0, "slot": 0, "attempt": 0, "skill": "s", "document_id": "", "parents": ()},
        **{"prompt": "", "reply": "", "source": "", "segments": (), "findings": ("ENV001: a syntax error",)},
    }
    return Design(**(plain | changes))


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
    metrics = summarise(designs, (), (), CycleScores([], [], [], {}, {}), ())
    told = {
        name: metrics[f"designer/{name}"] for name in ("mended_share", "hung_share", "faulted_share", "valid_share")
    }
    assert told == {"mended_share": 1 / 8, "hung_share": 2 / 8, "faulted_share": 3 / 8, "valid_share": 1 / 5}
    assert (metrics["designer/attempts"], metrics["faults/other"]) == (8, 3)
    assert not any("share" in name for name in summarise((), (), (), CycleScores([], [], [], {}, {}), ()))
