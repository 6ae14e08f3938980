"""One error for each boundary. Each message names what was wrong and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from spadework.text import clean
from spadework.types import Fault, FaultKind


class SpadeworkError(Exception):
    """What the command line prints as one paragraph, without a traceback."""


class ConfigError(SpadeworkError):
    """A configuration, file or argument that cannot be used."""


class ConfigWarning(UserWarning):
    """A config that can be used, though not all of it means what its author thinks."""


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
    """A model gave no usable answer; unless it is a ``ModelError``, the endpoint that serves it is to blame."""

    kind: FaultKind = "endpoint"


class ModelError(PolicyError):
    """The model in this process failed: there is no endpoint to blame."""

    kind = "model"


class GraderError(FaultError):
    """A judge gave no usable verdict."""

    kind = "grader"


class LateError(FaultError):
    """Something had not ended when its deadline ran out."""

    kind = "late"


_BY_KIND: dict[FaultKind, type[FaultError]] = {
    error.kind: error for error in (ProgramError, SandboxError, PolicyError, GraderError, ModelError, LateError)
}


def error_of(fault: Fault) -> FaultError:
    """The error that carries a fault: what raising it again takes."""
    return _BY_KIND[fault.kind](fault.code, fault.message, fault.detail)


def blames_machinery(fault: Fault) -> bool:
    """Whether endpoint, model or sandbox failed, so that the next piece of work will most likely fail as well.

    A conversation that outgrows the model's context (``TOO_LONG``) is a matter of that conversation alone.
    """
    return fault.kind in ("endpoint", "model", "sandbox", "late") and fault.code != "TOO_LONG"


def causes(faults: Iterable[Fault]) -> Counter[str]:
    """How often each cause was met: the kind and code of a fault with the first line of its message."""
    return Counter(f"{fault.kind} {fault.code} {_first_line(fault.message)}" for fault in faults)


def cause_lines(counts: Mapping[str, int], most: int = 8) -> list[str]:
    """``causes`` as lines for people, ``3 x endpoint CONNECTION http://… cannot be reached``, the most frequent first.

    Of more than ``most`` causes the others are only counted.
    """
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    lines = [f"{count} x {cause}" for cause, count in ordered[:most]]
    rest = ordered[most:]
    if rest:
        lines.append(f"{sum(count for _, count in rest)} x {len(rest)} further causes")
    return lines


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error inside a group of concurrent ones: what a user is told instead of a tree."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
