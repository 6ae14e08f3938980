"""The settings of a study are written before its first run; a study whose settings changed since then is refused."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spadework.config.differences import config_changes
from spadework.config.files import dump_config, parse_config, parse_stored_config
from spadework.config.renamed import with_current_names
from spadework.errors import ConfigError
from spadework.runs.files import locked
from spadework.study.folder import StudyFolder, write_json
from spadework.study.spec import Study, resolve

PACKAGES = ("spadework", "torch", "transformers", "numpy")
"""The packages on whose versions a study's numbers may depend."""


def freeze(study: Study, file: Path, folder: StudyFolder, quick: bool) -> dict[str, Any]:
    """Write the settings, or compare them with those of the first run; return what ``frozen.json`` holds.

    Raises ``ConfigError`` when the file or any setting that it resolves to has changed since.
    """
    now = _settings(study, file, quick)
    folder.path.mkdir(parents=True, exist_ok=True)
    with locked(folder.path / "lock"):  # jobs of a cluster may begin a study together
        if not folder.frozen.exists():
            (folder.path / "study.toml").write_bytes(file.read_bytes())
            write_json(folder.frozen, now)
            return now
    was = begun(file, folder, quick)
    changes = _changes(was["configs"], now["configs"])
    if changes:
        told = "\n".join(f"  {line}" for line in changes)
        raise ConfigError(
            f"{folder.path} was started with other settings:\n{told}\nSet them back, or give the study another --out"
        )
    return was


def begun(file: Path, folder: StudyFolder, quick: bool) -> dict[str, Any]:
    """What ``freeze`` wrote for this very file, whatever the settings resolve to in this version.

    That is enough to report on the runs that there are. Raises ``ConfigError`` where no study was begun in the folder,
    or one of another file.
    """
    was, now = read_frozen(folder), _hash(file)
    if was["quick"] != quick:
        raise ConfigError(f"{folder.path} holds the {'quick' if was['quick'] else 'full'} study; give another --out")
    if was["sha256"] != now:
        raise ConfigError(
            f"{file} has changed since its first run (SHA-256 {was['sha256'][:12]} then, {now[:12]} now). "
            f"What is compared was fixed beforehand: go on with the file as it was ({folder.path / 'study.toml'}), "
            "or give the changed study another --out"
        )
    return was


def read_frozen(folder: StudyFolder) -> dict[str, Any]:
    """What ``freeze`` wrote, with its settings under their present names.

    Raises ``ConfigError`` where nothing was begun, or it cannot be read.
    """
    try:
        kept: dict[str, Any] = json.loads(folder.frozen.read_text("utf-8"))
        configs = {arm: with_current_names(config)[0] for arm, config in kept["configs"].items()}
        return {**kept, "configs": configs}
    except FileNotFoundError:
        raise ConfigError(f"{folder.path}: no study was begun here") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{folder.frozen}: cannot be read: {error!r}") from None


def versions() -> dict[str, str]:
    """The versions of Python, and of the ``PACKAGES`` that are installed."""
    found = {"python": platform.python_version(), "platform": sys.platform}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _settings(study: Study, file: Path, quick: bool) -> dict[str, Any]:
    seed = study.seeds[0]
    configs = {arm: dump_config(resolve(study, file, arm, seed, own.pool)) for arm, own in study.arms.items()}
    return {
        "file": file.name,
        "sha256": _hash(file),
        "quick": quick,
        "seeds": list(study.seeds),
        "cycles": study.cycles,
        "versions": versions(),
        "configs": configs | {"": dump_config(resolve(study, file, None, seed))},
    }


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _changes(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Settings of each arm that differ and matter, whatever an older version called them."""
    lines = []
    for arm, data in now.items():
        old = parse_stored_config(was[arm], f"arm {arm}" if arm else "study")
        for change in config_changes(old, parse_config(data, arm)):
            if not change.free:
                lines.append(f"{arm or 'study'}.{change}")
    return lines
