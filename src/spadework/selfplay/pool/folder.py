"""A pool as a folder of programs to read, edit and put under version control: ``NAME.py`` and ``NAME.toml`` each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from spadework.config.toml import toml_text
from spadework.errors import ConfigError
from spadework.runs.files import write_whole
from spadework.selfplay.pool.files import COLUMNS
from spadework.types import Environment

_CLASS = re.compile(r"^class (\w+?)(?:Env)?\b", re.MULTILINE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 60
"""Characters of a class's name that a file is named by."""


def write_folder(folder: Path, environments: Iterable[Environment]) -> int:
    """Write every environment, and return their number; ``load_pool`` reads the same environments back.

    Raises ``ConfigError`` where the folder holds something already: old programs would be read as part of the pool.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--out {folder}: holds something already; name a folder that is new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for environment in environments:
        # No sum of the source: it would hold the programs that somebody edits here for broken ones.
        described = {name: getattr(environment, name) for name in COLUMNS if name not in ("source", "sha256")}
        path = folder / f"{_name(environment)}.py"
        _write(path, environment.source)
        _write(path.with_suffix(".toml"), toml_text(described))
        written += 1
    return written


def _name(environment: Environment) -> str:
    """The class's name in small letters, and the id, by which no two files have one name."""
    found = _CLASS.search(environment.source)
    words = _HUMP.sub("_", found[1][:_LONGEST]).lower() if found else "program"
    return f"{words}_{re.sub(r'[^A-Za-z0-9-]', '-', environment.id)}"


def _write(path: Path, text: str) -> None:
    def write(aside: Path) -> None:
        aside.write_bytes(text.encode())

    write_whole(path, write)
