"""One error for each boundary. Each message names what was wrong and what to do about it."""

from __future__ import annotations

from spadework.text import clean
from spadework.types import Fault, FaultKind


class SpadeworkError(Exception):
    """What the command line prints as one paragraph, without a traceback."""


class ConfigError(SpadeworkError):
    """A configuration, file or argument that cannot be used."""


class RunError(SpadeworkError):
    """A run directory that cannot be read, written or resumed."""


class FaultError(SpadeworkError):
    """Carries a typed fault up to ``rollout`` or ``validation``, which alone catch it."""

    kind: FaultKind

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.fault = Fault(self.kind, code, clean(message), clean(detail))


class ProgramError(FaultError):
    """The environment's program raised, hung, grew too large or broke the contract."""

    kind = "program"


class SandboxError(FaultError):
    """The sandbox itself failed; says nothing about the program."""

    kind = "sandbox"


class PolicyError(FaultError):
    """The model or its endpoint gave no usable answer."""

    kind = "endpoint"


class GraderError(FaultError):
    """A judge gave no usable verdict."""

    kind = "grader"
