"""Tool use at run time: the live schemas, criteria at reset and after the oracle, tools that must work or fail.

What has to be seen from within is looked at in an instance of its own, whose program is the source with ``probe``
appended: the instance that is played is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spadework.envs.check.answers.leaks import mentions
from spadework.envs.check.findings import Finding
from spadework.envs.check.players import Play
from spadework.envs.check.static import tools as static_tools
from spadework.envs.check.syntax import Program
from spadework.envs.sandbox.base import Session, act
from spadework.envs.tool_calls import parse_reply
from spadework.text import parse_python

_SEEDS = 3
_PROBES = ("facts", "criteria", "tools", "called")
_CLOCK = re.compile(r"[\d:/. TZ-]+")


@dataclass(frozen=True, slots=True)
class Look:
    """What the probe saw of the criteria, one entry a seed."""

    facts: Mapping[str, Any]
    at_reset: tuple[Sequence[Mapping[str, Any]], ...]
    at_end: tuple[Sequence[Mapping[str, Any]], ...]
    """After the oracle's play; empty without an oracle."""
    tools: tuple[Sequence[Mapping[str, Any]], ...]
    worked: frozenset[str]
    """Tools that the oracle called with success."""


def probe_for(source: str) -> str:
    """What to append to ``source`` so that its environment has the probe's functions as methods."""
    env = Program(parse_python(source)).env
    methods = [f"{env.name}.spadework_{name} = spadework_{name}" for name in _PROBES] if env else []
    return "\n".join(["", _probe(), "", *methods, ""])


@cache
def _probe() -> str:
    return Path(__file__).with_name("probe.py").read_text(encoding="utf-8")


async def look(session: Session, solved: Sequence[Play], seeds: Sequence[int]) -> Look:
    """Look at a session of an instrumented program. Raises ``ProgramError`` and ``SandboxError``."""
    plays = {play.seed: play for play in solved}
    at_reset, at_end, tools, worked = [], [], [], set()
    facts: Mapping[str, Any] = {}
    for seed in seeds[:_SEEDS]:
        await session.reset(seed)
        facts = await session.call("spadework_facts")
        at_reset.append(await session.call("spadework_criteria"))
        if seed in plays:
            for action in plays[seed].actions:
                await act(session, action)
            at_end.append(await session.call("spadework_criteria"))
            worked |= set(await session.call("spadework_called"))
    for seed in seeds[:2]:
        await session.reset(seed)
        tools.append(await session.call("spadework_tools", seed))
    return Look(facts, tuple(at_reset), tuple(at_end), tuple(tools), frozenset(worked))


def live_schemas(source: str, session: Session) -> list[Finding]:
    """The schemas of a session that was reset, against the source's methods."""
    return list(static_tools.check_schemas(Program(parse_python(source)), session.tools))


def judge(seen: Look, won: bool) -> Iterator[Finding]:
    """Findings on criteria and tools; ``won`` says that the oracle won, so every criterion can be met."""
    if not seen.facts["based"]:
        return
    messages, criteria = seen.facts["messages"], seen.facts["criteria"]
    if messages != criteria:
        yield Finding("ENV417", f"there are {messages} instructions and {criteria} criteria")
    if not messages and not seen.facts["answer"]:
        yield Finding("ENV417", "there are neither instructions with criteria nor an expected answer")
    yield from _criteria(seen, won)
    for entries in zip(*seen.tools, strict=True):
        name = entries[0]["name"]
        if name not in seen.worked and not any(entry["works"] for entry in entries):
            yield Finding("ENV414", f"no call of tool {name} succeeds; the last said {entries[0]['error']!r:.100}")
        if bad := [entry["changed"] for entry in entries if entry["changed"] is not None]:
            yield Finding("ENV416", f"tool {name} changes the state when called with {bad[0]!r:.100}")


def _criteria(seen: Look, won: bool) -> Iterator[Finding]:
    met_early = 0
    count = len(seen.at_reset[0]) if seen.at_reset else 0
    for index in range(count):
        early = [entries[index] for entries in seen.at_reset if index < len(entries)]
        late = [entries[index] for entries in seen.at_end if index < len(entries)]
        if all(entry["met"] for entry in early) and index not in seen.facts["declined"]:
            met_early += 1
            yield Finding("ENV411", f"criterion {index + 1} is met at reset")
        if won or any(entry["met"] for entry in [*early, *late]):
            continue
        errors = [entry["error"] for entry in late or early]
        mismatch = next((entry["mismatch"] for entry in [*early, *late] if entry["mismatch"]), None)
        if all(errors):
            yield Finding("ENV410", f"criterion {index + 1} raises {errors[0]!s:.100}")
        elif mismatch or late:
            yield Finding("ENV413", f"criterion {index + 1}: {mismatch or 'false after all that the oracle does'}")
    if met_early * 2 > count:
        yield Finding("ENV412", f"{met_early} of {count} criteria are met at reset")


def underivable(solved: Sequence[Play], tools: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Identifiers that the oracle uses though nothing has shown them: the player could only guess."""
    for play in solved:
        shown = [play.opening, str(list(tools))]
        for action, step in zip(play.actions, play.steps, strict=True):
            for call in parse_reply(action).calls:
                for name, value in call.arguments.items():
                    if _identifier(value) and not any(mentions(text, str(value)) for text in shown):
                        yield Finding(
                            "ENV415", f"the oracle calls {call.name} with {name}={value!r:.40}, shown nowhere"
                        )
                        return
            shown.append(step.observation)


def _identifier(value: object) -> bool:
    """Whether a value can only be copied: text without spaces that holds a digit, and no date, time or amount."""
    if not isinstance(value, str) or " " in value or not re.search(r"\d", value):
        return False
    return _CLOCK.fullmatch(value) is None


def hidden_values(solved: Sequence[Play]) -> set[str]:
    """Concrete arguments of the oracle's calls that the first observation does not show; a hint must not name them."""
    found: set[str] = set()
    for play in solved:
        for action in play.actions:
            for call in parse_reply(action).calls:
                values = [str(value) for value in call.arguments.values() if not isinstance(value, bool)]
                found |= {value for value in values if _concrete(value) and not mentions(play.opening, value)}
    return found


def _concrete(value: str) -> bool:
    return len(value) > 1 and re.search(r"[\d/@_]|[A-Z]", value) is not None
