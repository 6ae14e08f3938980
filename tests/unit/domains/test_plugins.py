"""Names of plug-ins: built-in, by entry point, by module, by file; and what is said of wrong ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spadework.domains.games import GAMES
from spadework.envs.domain import Domain
from spadework.envs.registry import DOMAINS, find_domain
from spadework.errors import ConfigError
from spadework.plugins import Plugins

FILE = """
from dataclasses import dataclass
from spadework.domains.games import GAMES as MINE

NUMBER = 3

@dataclass
class Kept:
    x: int
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my_own_domain.py"
    path.write_text(FILE)
    monkeypatch.chdir(tmp_path)
    yield path
    sys.modules.pop("my_own_domain", None)
    find_domain.cache_clear()


def test_built_ins_come_first() -> None:
    assert DOMAINS.names()[:2] == ("games", "tool_use")
    assert find_domain("games") == GAMES


@pytest.mark.parametrize("form", ["my_own_domain:MINE", "my_own_domain.py:MINE", "{folder}/my_own_domain.py:MINE"])
def test_a_domain_of_the_users_own_is_found_and_keeps_the_name_that_finds_it(plugin: Path, form: str) -> None:
    name = form.format(folder=plugin.parent)
    domain = find_domain(name)
    assert (domain.name, domain.briefing) == (name, GAMES.briefing)
    assert find_domain(name) is domain


def test_a_file_is_loaded_once(plugin: Path) -> None:
    plugins = Plugins("thing", "spadework.no_such_group", {})
    assert plugins.find(f"{plugin}:Kept") is plugins.find("my_own_domain.py:Kept")


def test_installed_distributions_declare_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "animals-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: animals\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[spadework.domains]\nzoo = spadework.domains.games:GAMES\n")
    plugins = Plugins("domain", "spadework.domains", {"games": "spadework.domains.games:GAMES"})
    assert "zoo" not in plugins.names()
    monkeypatch.syspath_prepend(tmp_path)
    assert plugins.names()[0] == "games"
    assert "zoo" in plugins.names()
    assert plugins.find("zoo") is GAMES


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gmaes", ["no domain 'gmaes'", "nearest is 'games'", "module:NAME"]),
        ("xyz", ["there are games, tool_use"]),
        ("no_such_module:X", ["no_such_module", "cannot be imported"]),
        ("no_such_file.py:X", ["there is no file", "no_such_file.py"]),
        ("my_own_domain:NOTHING", ["my_own_domain defines no NOTHING"]),
        ("my_own_domain:", ["write it as module:NAME"]),
        ("my_own_domain:NUMBER", ["is a int, not a spadework.envs.domain.Domain"]),
    ],
)
def test_errors_name_what_was_meant(plugin: Path, name: str, said: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        find_domain(name)
    assert all(words in str(caught.value) for words in said), caught.value


def test_a_file_that_fails_says_why_and_may_be_mended(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(ConfigError, match="division by zero"):
        find_domain(f"{path}:X")
    path.write_text("from spadework.domains.games import GAMES as X")
    assert isinstance(find_domain(f"{path}:X"), Domain)
