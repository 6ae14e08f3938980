"""``spadework export POOL --to FRAMEWORK``: a package with the pool inside, or one clear line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from spadework.api.inputs import load_pool
from spadework.cli import main
from spadework.resources import shipped

POOL = shipped("examples") / "environments" / "tool_use"


def test_a_package_for_verifiers_holds_the_pool_and_names_itself_after_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tool_games"
    assert main(["export", str(POOL), "--to", "verifiers", "--out", str(out)]) == 0
    written, given = load_pool(out / "tool_games" / "pool.parquet"), load_pool(POOL)
    assert [one.source for one in written] == [one.source for one in given]
    assert f"{len(given)} environments in {out}" in capsys.readouterr().out
    project = tomllib.loads((out / "pyproject.toml").read_text())
    assert project["project"]["name"] == "tool-games"
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["tool_games"]
    assert tomllib.loads((out / "eval.toml").read_text())["taskset"]["id"] == "tool-games"
    compile((out / "tool_games" / "__init__.py").read_text(), "tool_games", "exec")
    assert "vf-eval tool-games" in (out / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--out", "new"], "export takes one of --what"),
        (["--to", "verifiers", "--what", "episodes", "--out", "new"], "export takes one of --what"),
        (["--to", "verifiers", "--out", "full"], "full is not empty; name a new folder"),
        (["--to", "verifiers", "--out", "a package"], "use letters, digits and single hyphens"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_a_line(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("mine")
    assert main(["export", str(POOL / "locking_a_door.py"), *arguments]) == 2
    assert told in capsys.readouterr().err
    assert (tmp_path / "full" / "kept").read_text() == "mine"
