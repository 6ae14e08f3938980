"""The catalogue of the checker: every code with its severity, its title, why it matters, and a bad and a good example.

``spadework check --explain CODE`` prints an entry; docs/environments.md lists them all.
"""

from __future__ import annotations

from spadework.envs.check.codes.answering import DIFFICULTY, GRADING, LEAKS
from spadework.envs.check.codes.entry import Code, Severity
from spadework.envs.check.codes.reading import INTERFACE, STATIC
from spadework.envs.check.codes.running import RUNTIME, SEEDS
from spadework.envs.check.codes.winning import SOLVABILITY

__all__ = ["CODES", "Code", "Severity"]

CODES: dict[str, Code] = {
    **INTERFACE,
    **STATIC,
    **RUNTIME,
    **SEEDS,
    **SOLVABILITY,
    **LEAKS,
    **GRADING,
    **DIFFICULTY,
}
"""Code -> entry. ``ENV201`` to ``ENV208`` are raised by the sandbox, the others by the checks."""
