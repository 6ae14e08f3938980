"""Check that a harness's package is installed with what it needs, in the version that our adapter was written for.

The official harnesses pin dependencies that conflict with each other and with ours. So they are installed without
dependencies, and the extra ``eval`` installs the dependencies that the suites really need.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence

from spadework.errors import ConfigError

INSTALL = "pip install 'spadework[eval]'; pip install --no-deps -r requirements/eval-no-deps.txt"


def require(distribution: str, version: str, modules: Sequence[str]) -> None:
    """Raise ``ConfigError`` unless ``distribution`` is installed in ``version`` and all ``modules`` can be imported.

    No other version is accepted: the adapters use the packages' internals, and another version may score differently.
    """
    try:
        found = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError(f"this suite needs the package {distribution} {version}: {INSTALL}") from None
    if found != version:
        raise ConfigError(f"this suite is written against {distribution} {version}, not {found}: {INSTALL}")
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise ConfigError(
            f"{distribution} is installed, but modules that it needs are not ({', '.join(missing)}): {INSTALL}"
        )
