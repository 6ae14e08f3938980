"""Texts that a model may write and a page must not obey."""

from __future__ import annotations

from pathlib import Path

from spadework.config import RunConfig
from spadework.runs.cycle_record import CycleRecord, PlayRow, RegretRow
from spadework.runs.store import RunStore
from spadework.types import Design, Environment, Episode, Fault, Segment, Turn

SCRIPT = "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'></script><svg onload=window.owned=3>"
ANSI = "\x1b[31mred\x1b[0m\x1b]8;;http://evil.example\x07link\x07"
TURNED = "user\u202etxt.exe\u2066\u200b\ufeff"
LONG = "x" * 1_000_000
TEXTS = (SCRIPT, ANSI, TURNED, "${window.owned = 4}{{7*7}}", "\x00\x07\r\u2028\u2029\x85", "</textarea>\"'><b>")
HOSTILE = "\n".join(TEXTS)


def hostile_run(path: Path) -> Path:
    """A run in which every text that is not ours is hostile."""
    environment = Environment(
        id="evil",
        source=f'"""{HOSTILE}"""\nclass EvilEnv:\n    def reset(self, seed=None):\n        return {HOSTILE!r}, {{}}\n'
        f"    def step(self, action):\n        return {HOSTILE!r}, 0.0, False, False, {{}}\n",
        hint=HOSTILE,
        skill=SCRIPT,
        domain="games",
        document_id=SCRIPT + TURNED,
        cycle=0,
        designer_version=0,
        parents=(SCRIPT,),
        design_id=SCRIPT,
    )
    designs = [
        Design(
            SCRIPT, 0, 0, 0, SCRIPT, SCRIPT, (SCRIPT,), HOSTILE + LONG, HOSTILE, HOSTILE, (), (), environment_id="evil"
        ),
        Design("refused", 0, 1, 0, SCRIPT, SCRIPT, (), LONG, LONG, LONG, (), (f"ENV001 {HOSTILE}",)),
    ]
    tokens = tuple(HOSTILE.encode())
    segment = Segment(tokens, (True,) * len(tokens), (-0.5,) * len(tokens), 0)
    fault = Fault("program", SCRIPT, HOSTILE, LONG)
    turns = (Turn(HOSTILE, HOSTILE, HOSTILE, 0.0, True), Turn(LONG, LONG, LONG, 0.0))
    episodes = [
        Episode("0-evil-u0", 0, "evil", "unhinted", 0, 1, turns, (segment,), "fault", float("nan"), HOSTILE, fault),
        Episode("0-evil-h0", 0, "evil", "hinted", 0, 1, turns[:1], (segment,), "terminated", 1.0, LONG),
    ]
    store = RunStore.create(path, RunConfig.model_validate({"model": {"name": "scripted"}}))
    plays = [PlayRow("evil", "unhinted", 1, 1, float("nan"), float("nan")), PlayRow("evil", "hinted", 1, 0, 1.0, 1.0)]
    regrets = [RegretRow("evil", 0.5, float("nan"), float("nan"), float("nan"), 1)]
    metrics = {"pool/size": 1.0, SCRIPT: 1.0, "agent/unhinted_win_rate": float("nan")}
    record = CycleRecord(0, [environment], designs, plays=plays, regrets=regrets, episodes=episodes, metrics=metrics)
    store.commit(record, checkpoint=None)
    store.close()
    return path
