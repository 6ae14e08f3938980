"""Checks that a harness's package is installed, whole, and of the version that its adapter was written against.

The official harnesses pin versions that conflict with each other and with ours. So they are installed without their
dependencies; the extra ``eval`` brings those dependencies that the suites need.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence

from spadework.errors import ConfigError

INSTALL = "pip install 'spadework[eval]'; pip install --no-deps -r requirements/eval-no-deps.txt"


def require(distribution: str, version: str, modules: Sequence[str]) -> None:
    """Raise ``ConfigError`` unless ``distribution`` is of ``version`` and all ``modules`` can be imported.

    No other version is accepted: the adapters use the packages' inner parts, and another version may score differently.
    """
    try:
        found = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError(f"this suite needs the package {distribution} {version}: {INSTALL}") from None
    if found != version:
        raise ConfigError(f"this suite is written against {distribution} {version}, not {found}: {INSTALL}")
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise ConfigError(f"{distribution} is installed, but what it needs is not ({', '.join(missing)}): {INSTALL}")
