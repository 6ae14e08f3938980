"""Where a run takes place: the host and the versions of what it runs on."""

from __future__ import annotations

import platform
from importlib import metadata

PACKAGES = ("spadework", "torch", "transformers")


def this_machine() -> dict[str, str]:
    """``host``, ``system``, ``python`` and the version of each of ``PACKAGES`` that is installed."""
    found = {"host": platform.node(), "system": platform.platform(terse=True), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
