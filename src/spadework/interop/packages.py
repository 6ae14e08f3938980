"""A pool as a package of another framework: a folder that pip installs, with the programs inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template

from spadework import __version__
from spadework.errors import ConfigError
from spadework.runs.files import write_whole
from spadework.selfplay.pool.files import write_pool
from spadework.types import Environment

_VERIFIERS = {
    "pyproject.toml": """\
[project]
name = "$name"
version = "0.1.0"
description = "$count environments of spadework, for verifiers"
requires-python = ">=3.11"
dependencies = ["spadework>=$version", "verifiers>=0.4,<0.5"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["$module"]
""",
    "README.md": """\
# $name

$count environments of a spadework pool ($domains), as a taskset, an environment and a harness of
[verifiers](https://github.com/PrimeIntellect-ai/verifiers) 0.4. The programs run in spadework's own sandbox.

    pip install -e .
    vf-validate $name --runtime.type subprocess
    vf-eval $name --model MODEL --client.base-url URL --no-push

Settings: `--taskset.seeds N` (tasks of each environment, default 4), `--taskset.hinted true` (show the hints) and
`--taskset.environments` (ids; default all). An episode pays its return, in [-1, 1].
""",
    "eval.toml": """\
# vf-eval $name @ eval.toml --model MODEL --client.base-url URL
push = false

[taskset]
id = "$name"
seeds = 4
hinted = false
""",
    "$module/__init__.py": '''\
"""$count environments of a spadework pool, for verifiers."""

from pathlib import Path

from spadework.interop.verifiers import OneCallHarness, PoolEnv, PoolTaskset


class Pool(PoolTaskset):
    """The environments of ``pool.parquet``."""

    POOL = Path(__file__).parent / "pool.parquet"


__all__ = ["OneCallHarness", "Pool", "PoolEnv"]
''',
}


def write_verifiers(folder: Path, environments: Sequence[Environment]) -> None:
    """Write the package of a verifiers taskset. Raises ``ConfigError``."""
    _write(folder, environments, _VERIFIERS)


PACKAGES: dict[str, Callable[[Path, Sequence[Environment]], None]] = {"verifiers": write_verifiers}
"""Framework -> what writes a package for it."""


def _write(folder: Path, environments: Sequence[Environment], files: dict[str, str]) -> None:
    """Fill the templates, named for the folder, and put the pool beside the module.

    Raises:
        ConfigError: the folder holds something already, or its name cannot be a package's.
    """
    name = folder.resolve().name.lower().replace("_", "-")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ConfigError(f"{folder}: the folder's name becomes the package's: use letters, digits and single hyphens")
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; name a new folder")
    module = name.replace("-", "_")
    values = {
        "name": name,
        "module": module,
        "count": str(len(environments)),
        "domains": ", ".join(sorted({one.domain for one in environments})),
        "version": __version__,
    }
    for file, text in files.items():
        path = folder / Template(file).substitute(values)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = Template(text).substitute(values)
        write_whole(path, lambda aside, content=content: aside.write_text(content))  # type: ignore[misc]
    write_pool(folder / module / "pool.parquet", environments)
