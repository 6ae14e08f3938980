"""Every ablation of the paper runs at laptop scale: other than the model, only sizes are overridden."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.test_endpoint import serving

from spadework.cli import main
from spadework.resources import shipped
from spadework.runs.reading import read_designs
from spadework.runs.store import RunStore

ABLATIONS = sorted(path.stem for path in (shipped("configs") / "ablations").glob("*.toml"))
ELSEWHERE = ("external-designer", "static-pool")
"""What another model designs: they have tests of their own below."""
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


def words(**more: object) -> list[str]:
    settings = SIZES | {key.replace("__", "."): value for key, value in more.items()}
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


@pytest.mark.parametrize("name", [name for name in ABLATIONS if name not in ELSEWHERE])
def test_two_cycles(name: str, tmp_path: Path) -> None:
    assert main(["train", f"ablations/{name}", *words(), "--run", str(tmp_path / "run")]) == 0
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


def test_another_model_designs_behind_an_endpoint(tmp_path: Path) -> None:
    with serving() as server:
        # the stand-in reads the limit of new tokens under its common name alone
        address = words(designer__endpoint__urls=f'["{server.url}"]', designer__endpoint__limit_field="max_tokens")
        assert main(["train", "ablations/external-designer", *address, "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    metrics, designs = store.metrics(), read_designs(store)
    store.close()
    assert any(design.accepted for design in designs)
    assert [value for _, value in metrics["rows/designer"]] == [0.0, 0.0]
    assert sum(value for _, value in metrics["rows/agent"]) > 0


def test_a_pool_that_another_model_wrote(tmp_path: Path) -> None:
    pool = tmp_path / "pool.parquet"
    assert (
        main(["pool", "import", str(shipped("examples") / "environments" / "games"), "--no-run", "--out", str(pool)])
        == 0
    )
    drawn = words(pool__source=pool, pool__per_cycle=3, designer__environments=0)
    assert main(["train", "ablations/static-pool", *drawn, "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    plays = store.rows("plays")
    store.close()
    assert len({play["environment_id"] for play in plays}) == 6, "each environment comes once"
    assert {play["arm"] for play in plays} == {"unhinted"}
