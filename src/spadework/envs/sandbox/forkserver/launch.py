"""Starts a sandboxed interpreter and decides which modules it loads."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from spadework.envs import contract, mathematics
from spadework.errors import SandboxError

ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}
"""The whole environment of a sandboxed process."""
BOOT = """\
import json, sys
sys.path.insert(0, {folder!r})
from inside.{module} import main
main({socket}, json.loads(sys.argv[1]))
"""
FOLDER = Path(__file__).parent


def start(module: str, socket: int, config: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Run ``inside/<module>.py`` in a fresh interpreter that inherits nothing but ``socket``.

    ``-I`` would be the usual switch, but it ignores the hash seed.
    """
    boot = BOOT.format(folder=str(FOLDER), module=module, socket=socket)
    python = os.path.realpath(sys.executable)
    return subprocess.Popen(
        [python, "-s", "-S", "-P", "-B", "-c", boot, json.dumps(config)],
        pass_fds=[socket],
        env=ENVIRONMENT,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


COMMON = frozenset(
    """
    __future__ abc array base64 bisect collections contextlib copy dataclasses enum functools heapq io itertools json
    keyword math numbers operator random re reprlib string struct textwrap time types typing
    """.split()
)
"""Modules that every interpreter loads: most games import no other."""
_IMPORT = re.compile(r"\bfrom\s+([\w.]+)\s+import\b|\bimport\s+([^\n;#]+)")
_UNCOMMON = "|".join(sorted({*contract.PRELUDE_MODULES, *contract.BASE_CLASSES} - COMMON - {"Env"}))
_MENTION = re.compile(rf"\b(?:{_UNCOMMON}|__import__|importlib|strptime|idna|punycode)\b|\\N")
"""Words in a source that need an uncommon module although the program does not import it."""


class Kind(NamedTuple):
    """Which modules an interpreter loads: a fork costs what is loaded, so programs get what they mention."""

    uncommon: bool = False
    """Whether it loads all modules of the contract except the next two."""
    numpy: bool = False
    math_verify: bool = False

    def loads(self, module: str) -> bool:
        """Whether it loads a module of the contract."""
        own = {"numpy": self.numpy, "math_verify": self.math_verify}
        return own.get(module, self.uncommon or module in COMMON)


@lru_cache(maxsize=1024)
def kind_of(source: str) -> Kind:
    """Return the modules that a program may use: it must find everything that it imports or mentions.

    math_verify loads numpy besides: sympy would look for it.
    """
    math_verify = "math_verify" in source
    numpy = math_verify or re.search(r"\bnp\b|numpy", source) is not None
    return Kind(numpy or not _imports(source) <= COMMON or _MENTION.search(source) is not None, numpy, math_verify)


def _imports(source: str) -> set[str]:
    """Return the top-level modules named after an ``import`` or ``from``, which may also stand in a comment."""
    found = _IMPORT.findall(source.replace("\\\n", " "))
    parts = [part for one, several in found for part in ([one] if one else several.split(","))]
    return {part.strip().partition(" ")[0].partition(".")[0] for part in parts}


def describe(kind: Kind) -> dict[str, Any]:
    """Return the settings for ``inside.warm``. Raises ``SandboxError`` where a module of the contract is missing."""
    if kind.math_verify and not mathematics.is_installed():
        raise SandboxError("NO_MODULE", f"the program mentions math_verify, and {mathematics.NEEDS_EXTRA}")
    return {
        "bases": sorted(contract.BASE_CLASSES),
        "imports": sorted(filter(kind.loads, contract.ALLOWED_IMPORTS)),
        "prelude_modules": list(filter(kind.loads, contract.PRELUDE_MODULES)),
        "prelude_names": contract.PRELUDE_NAMES,
        "site": _site_folders(),
        "tool_needs": {
            "spadework.scan": str(FOLDER.parents[2] / "scan.py"),
            "spadework.envs.json_schema": str(FOLDER.parents[1] / "json_schema.py"),
            "spadework.envs.snapshot": str(FOLDER.parents[1] / "snapshot.py"),
        },
        "tool_env": str(FOLDER.parents[1] / "tool_env.py"),
        **kind._asdict(),
    }


def _site_folders() -> list[str]:
    folders = [path for path in sys.path if path.endswith("-packages")]
    for name in ("numpy", "math_verify", "sympy", "mpmath", "antlr4", "latex2sympy2_extended"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).parent.parent))
    return list(dict.fromkeys(folders))
