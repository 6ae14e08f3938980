"""The names of packages' environments, such as ``rlve:Sorting?difficulty=3``, which stand in place of a source."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass

from spadework.envs.sandbox.workers import worker_environment
from spadework.errors import ConfigError

PACKAGES = {"rlve": "Gym", "reasoning-gym": "reasoning_gym"}
"""The name before the colon -> the module that it needs."""

LIST_SECONDS = 300.0
"""Wall seconds that importing a package and listing it may take."""

EXTRA = "baselines"
"""The extra that installs them."""

RLVE_16 = tuple(
    """
    Division EuclidGame GCDOne_Counting HamiltonianPath LampChanging LargestConvexPolygon Multiplication PCPPermutation
    Path_NoGoingBack_Counting SAT ShortestPath Sorting SpiralMatrix SubsequenceReversalLNDS UndamagedSubmatrixCounting
    WYRLevelingGround
    """.split()
)
"""RLVE's set of sixteen, which the method's baseline takes by default (RLVE's launcher ``num-environment=16``)."""

_WRITTEN = re.compile(r"(rlve|reasoning-gym):([\w,]+)(?:\?difficulty=(\d+))?")


@dataclass(frozen=True, slots=True)
class Named:
    """One environment of a package, or several (``name`` is then a set's, or holds commas)."""

    package: str
    name: str
    difficulty: int | None = None
    """Level from 0; unset is 0 in RLVE, and Reasoning-Gym's own defaults there."""

    def __str__(self) -> str:
        level = "" if self.difficulty is None else f"?difficulty={self.difficulty}"
        return f"{self.package}:{self.name}{level}"


def parse_named(source: str) -> Named | None:
    """The environment that ``source`` names; ``None`` for a program, or anything else."""
    match = _WRITTEN.fullmatch(source.strip())
    return Named(match[1], match[2], None if match[3] is None else int(match[3])) if match else None


@dataclass(frozen=True, slots=True)
class Entry:
    """One environment of a package."""

    name: str
    skill: str
    top: int | None
    """Highest level; ``None`` where there is no end, -1 where there are no levels."""


def require(package: str) -> None:
    """Raise ``ConfigError`` when a package is not installed."""
    if importlib.util.find_spec(PACKAGES[package]) is None:
        raise ConfigError(f"{package}: needs the extra `{EXTRA}`: pip install 'spadework[{EXTRA}]'")


@functools.cache
def entries(package: str) -> tuple[Entry, ...]:
    """All environments of a package, as a worker lists them. Raises ``ConfigError``."""
    require(package)
    command, env = worker_command(package, "list"), worker_environment()
    try:
        listed = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=LIST_SECONDS)
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{package}: the package was not listed within {LIST_SECONDS:g} s") from None
    if listed.returncode:
        raise ConfigError(f"{package}: the package cannot be listed: {listed.stderr.strip()[-500:]}")
    return tuple(Entry(**row) for row in json.loads(listed.stdout))


def worker_command(package: str, argument: str) -> list[str]:
    """The command that starts a worker. ``argument`` is its memory in MB, or ``list`` to print the environments."""
    return [sys.executable, "-m", "spadework.envs.sandbox.packaged.worker", package, argument]
