"""Where the files that ship with the package lie, installed or in a checkout, and the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def shipped(name: str) -> Path:
    """The folder ``configs``, ``examples`` or ``studies``: in the installed package, or at the root of a checkout."""
    package = Path(__file__).parent
    installed = package / name
    return installed if installed.exists() else package.parents[1] / name


def cache_dir() -> Path:
    """The user's cache folder of spadework (``XDG_CACHE_HOME``, else ``~/.cache``); made when missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "spadework"
    path.mkdir(parents=True, exist_ok=True)
    return path


def scale_weights() -> Path:
    """The folder of the scale model's weights, in Hugging Face's layout."""
    return Path(__file__).parent / "scale_model" / "weights"
