"""What helps the author of an environment: a program to start from, and checks that follow every save."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spadework.cli import main
from spadework.cli.environments.new import TEMPLATES, new_program
from spadework.cli.environments.watching import watch
from spadework.errors import ConfigError


def test_every_new_program_passes_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in TEMPLATES:
        assert main(["new", kind, f"my {kind}"]) == 0
    capsys.readouterr()
    assert main(["check", "--info", "."]) == 0
    said = capsys.readouterr()
    assert "3 checked, 0 rejected: 0 errors, 0 warnings" in said.err
    assert said.out == ""
    assert "class MyGameEnv:" in (tmp_path / "my_game.py").read_text()


def test_a_new_program_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halving.py").write_text("mine")
    assert main(["new", "game", "halving"]) == 2
    assert "halving.py: there is such a file already" in capsys.readouterr().err
    assert (tmp_path / "halving.py").read_text() == "mine"


@pytest.mark.parametrize("name", [[], ["3", "games"], ["env"]])
def test_a_name_that_makes_no_class_is_refused(name: list[str]) -> None:
    with pytest.raises(ConfigError, match="no name for an environment"):
        new_program("game", name)


def test_what_changes_and_what_appears_is_worked_on_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("a = 1\n")
    worked: list[list[Path]] = []

    def edit_first() -> None:
        first.write_text("a = 22\n")

    def touch_nothing() -> None:
        pass

    def add_second() -> None:
        second.write_text("b = 1\n")
        os.remove(first)

    edits = iter([edit_first, touch_nothing, add_second])

    def sleep(seconds: float) -> None:
        edit = next(edits, None)
        if edit is None:
            raise KeyboardInterrupt
        edit()

    def work(paths: list[Path]) -> int:
        worked.append(paths)
        if len(worked) == 2:
            raise ConfigError("the file is half written")
        return 0

    assert watch([tmp_path], work, sleep) == 0
    assert worked == [[tmp_path], [first], [second]]
    assert "the file is half written" in capsys.readouterr().err
