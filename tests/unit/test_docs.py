"""The pages for users: their links, the words of messages they quote, and the commands they tell people to paste."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from spadework.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
IN_TOUR = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / "tour.md").read_text("utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    missing = [link for link in links if ":" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_page_stands_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"- {page.name}" not in navigation] == []


def test_every_verb_is_explained() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    known = re.findall(r"`(?:spadework )?([a-z-]+)[ `]", text)
    assert set(COMMANDS) - {"train", "configs"} <= set(known)


def test_messages_in_troubleshooting_are_still_said() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    quoted = [
        "holds a run already; add --resume",
        "the nearest valid key is",
        "nothing to play: designer.environments is 0",
        "there is no verb",
        "layers of the sandbox are missing",
        "the sandbox's fork server did not start in time",
        "it is made of Linux's own",
        "math_verify is not installed",
        "drawing curves needs matplotlib",
        "a study's report needs jinja2",
        "database is locked",
        "cannot be read",
    ]
    for words in quoted:
        assert words in page, words
        assert words in sources, words


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


@pytest.mark.slow
def test_the_commands_of_the_tour_work_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line for block in IN_TOUR for line in block.splitlines()]
    assert len(commands) >= 9
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "spadework"
        assert main(arguments) == 0, f"{command}\n{capsys.readouterr().err}"
    assert (tmp_path / "episodes.parquet").stat().st_size > 0
