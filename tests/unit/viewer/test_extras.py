from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.viewers import train

from spadework.cli import main


@pytest.mark.parametrize("package", ["uvicorn", "duckdb"])
def test_a_missing_extra_is_named(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path / "run", "run.cycles=1")
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["view", "--no-browser", str(run)]) == 2
    assert "pip install 'spadework[viewer]'" in capsys.readouterr().err
