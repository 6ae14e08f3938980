"""Every ablation of the paper runs at laptop scale: other than the model, only sizes are overridden."""

from __future__ import annotations

from pathlib import Path

import pytest

from spadework.cli import main
from spadework.resources import shipped
from spadework.runs.records import read_designs
from spadework.runs.store import RunStore

ABLATIONS = sorted(path.stem for path in (shipped("configs") / "ablations").glob("*.toml"))
SIZES = {
    "model.name": "scripted",
    "run.cycles": 2,
    "designer.environments": 2,
    "designer.every": 1,
    "designer.max_tokens": 4_000,
    "validation.seeds": 2,
    "play.episodes": 4,
    "play.max_tokens": 200,
    "reward.delay": 1,
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_two_cycles(name: str, tmp_path: Path) -> None:
    overrides = [word for key, value in SIZES.items() for word in ("--set", f"{key}={value}")]
    assert main(["train", f"ablations/{name}", *overrides, "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    designs, config = read_designs(store), store.config
    scores, plays = store.rows("scores"), store.rows("plays")
    trained = [value for _, value in store.metrics()["rows/designer"]]
    store.close()
    assert {play["cycle"] for play in plays} == {0, 1}
    assert scores
    assert all(bool(design.document_id) == config.corpus.enabled for design in designs)
    assert config.memory.enabled or not any(design.parents for design in designs)
    assert {design.skill for design in designs} <= set(config.designer.skills)
    assert config.designer.train or not any(trained)
