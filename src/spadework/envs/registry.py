"""The domains that there are: those of this package, those of installed plug-ins, and any ``module:NAME``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

from spadework.envs.check.codes import CODES
from spadework.envs.check.syntax import Program
from spadework.envs.domain import Checks, Domain
from spadework.errors import ConfigError
from spadework.plugins import Plugins
from spadework.text import parse_python

DEFAULT_DOMAIN = "games"
"""The domain of a program that no other domain recognises as its own, and of plain prompts."""

DOMAINS = Plugins(
    "domain",
    "spadework.domains",
    {
        "games": "spadework.domains.games:GAMES",
        "tool_use": "spadework.domains.tool_use:TOOL_USE",
        "database": "spadework.domains.database:DATABASE",
    },
)


@cache
def find_domain(name: str) -> Domain:
    """The domain that ``name`` stands for in configs, runs and pools: a known name, or ``module:NAME``.

    The domain's own ``name`` becomes ``name``, so that whatever is recorded finds it again. Raises ``ConfigError``,
    which names the nearest known domain.
    """
    found = DOMAINS.find(name)
    if not isinstance(found, Domain):
        raise ConfigError(f"domain {name!r} is a {type(found).__name__}, not a spadework.envs.domain.Domain")
    for code, entry in found.checks.codes.items():
        if CODES.setdefault(code, entry) != entry:
            raise ConfigError(f"domain {name!r}: the code {code} is taken; it stands for: {CODES[code].title}")
    return dataclasses.replace(found, name=name)


def recognise(source: str) -> Domain:
    """The domain of a program, read off its parsed source; the default for one that does not parse."""
    try:
        program = Program(parse_python(source))
    except SyntaxError:
        return find_domain(DEFAULT_DOMAIN)
    return _first_that(lambda checks: checks.recognises(program))


def recognise_text(source: str) -> Domain:
    """The domain of a program, read off marks in its text: fast enough for pools of many thousands."""
    return _first_that(lambda checks: checks.marks is not None and checks.marks.search(source) is not None)


def _first_that(claims: Callable[[Checks], bool]) -> Domain:
    """The domain that claims a program.

    The newest is asked first, so that it may claim part of what an older one takes: programs over a database, say,
    derive from a base of tool use.
    """
    for name in reversed(DOMAINS.names()):
        domain = find_domain(name)
        if claims(domain.checks):
            return domain
    return find_domain(DEFAULT_DOMAIN)
