"""What is checked of a database world beyond tool use: reset gate, probes of its tools, players who do too much.

What has to be seen from within is looked at in an instance of its own, whose program is the source with the probes of
tool use and of databases appended.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from spadework.envs.check.codes import Code
from spadework.envs.check.findings import Finding
from spadework.envs.check.players import recite
from spadework.envs.check.runtime import Trial
from spadework.envs.check.syntax import Program, parameters
from spadework.envs.check.tool_use import criteria
from spadework.envs.sandbox.base import Session
from spadework.envs.tool_calls import render_call
from spadework.text import parse_python

CODES: Mapping[str, Code] = MappingProxyType(
    {
        "DB001": Code(
            "error",
            "the expected difference is not declared",
            "Without it nobody notices what else was changed.",
            "self._message_criteria = [...]  # and nothing more",
            'self._expected_changes = {"orders": {"added": [(7, "sent")], "removed": [(7, "open")]}}',
        ),
        "DB002": Code(
            "info",
            "a small world",
            "A full one has at least four tables, fifty rows, five tools and a task of four calls.",
        ),
        "DB003": Code(
            "error",
            "SQL is put together from what the player says",
            "The player would write the query. Values go in as parameters.",
            "self.query(f\"SELECT * FROM pets WHERE name = '{name}'\")",
            'self.query("SELECT * FROM pets WHERE name = ?", name)',
        ),
        "DB101": Code(
            "error",
            "a reset does not give the same rows again",
            "Both arms, the checks and a replay must find one and the same database.",
            "stock = random.randint(1, 9)",
            "stock = rng.randint(1, 9)  # rng = random.Random(seed)",
        ),
        "DB102": Code(
            "error",
            "a row points at a row that is not there",
            "Declared references must hold at reset, or look-ups lead nowhere.",
            "owner INTEGER REFERENCES owners (id)  -- and a pet of owner 99",
            "every owner of a pet stands in owners",
        ),
        "DB103": Code(
            "error",
            "the database differs from what was filled in",
            "The difference is counted from _fill: whatever reset writes later counts as the player's doing.",
            'self._fill(rows); self._state.execute("UPDATE ...")',
            "put the final rows into self._fill",
        ),
        "DB104": Code(
            "warning",
            "every seed fills in the same rows",
            "Identifiers and values would be learned by heart.",
            'self._fill({"pets": PETS})',
            'self._fill({"pets": rng.sample(...)})',
        ),
        "DB201": Code(
            "error",
            "a call of the plan fails",
            "The plan is the proof that the tools do what they say; a call that fails proves nothing.",
        ),
        "DB202": Code(
            "error",
            "a call for a record that does not exist changes the database",
            "A tool looks its records up before it writes.",
            'self._state.execute("INSERT INTO visits VALUES (?, ?)", (visit, pet_id))',
            'if not self.query("SELECT 1 FROM pets WHERE id = ?", pet_id): raise ValueError("no such pet")',
        ),
        "DB203": Code(
            "error",
            "a call that fails changes the database",
            "A refusal leaves everything as it was: check first, write afterwards, or raise.",
            'self._state.execute("UPDATE ..."); return {"error": "too late"}',
            'if late: return {"error": "too late"}',
        ),
        "DB301": Code(
            "error",
            "a change that nobody asked for is not noticed",
            "All that was asked and one change more must lose.",
            'self._expected_changes["log"] = self.changes()["log"]',
            "name every row that may be added or removed, and no other",
        ),
        "DB302": Code(
            "error",
            "doing nothing is paid",
            "Something on the check list holds before anything is done.",
            "\"SELECT count(*) > 0 FROM visits WHERE state = 'open'\"  # already at reset",
            "\"SELECT state = 'open' FROM visits WHERE id = 7\"",
        ),
    }
)

BASE = "SqliteToolEnv"
"""The class that the sandbox provides for databases."""

_PROBES = ("world", "planned", "bad_calls", "too_much", "random_calls")
_RANDOM_PLAYS = 10
_SIZES = {"tables": 4, "rows": 50, "tools": 5, "calls": 4}
_DONE = "<answer>done</answer>"
_STATEMENT = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|REPLACE\s+INTO\s)", re.IGNORECASE
)


def is_world(program: Program) -> bool:
    """Whether a program stands on the database base and declares the difference that it expects."""
    names = {getattr(node, "attr", "") for node in program.nodes}
    return BASE in program.base_names and "_expected_changes" in names


def spliced_sql(program: Program) -> Iterator[Finding]:
    """Tools whose SQL text holds one of their parameters."""
    for name, method in sorted(program.tools().items()):
        said = {*parameters(method)} - {"self"}
        for node in ast.walk(method):
            if isinstance(node, ast.expr) and _is_spliced(node) and _names(node) & said and _is_sql(node):
                yield Finding("DB003", f"tool_{name} puts its parameter into the text of a query", node.lineno)
                break


def _is_spliced(node: ast.expr) -> bool:
    """Whether an expression puts a text together: an f-string, ``+``, ``%`` or ``format``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "format"
    return isinstance(node, ast.JoinedStr | ast.BinOp)


def _names(node: ast.expr) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_sql(node: ast.expr) -> bool:
    """Whether the fixed parts of a text, in their order, begin as a statement of SQL does."""
    parts = [
        inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    ]
    return any(_STATEMENT.match(part) for part in parts)


async def check(trial: Trial) -> None:
    """Append what the probes and the players of databases find to the trial. Raises ``ProgramError``."""
    if not is_world(Program(parse_python(trial.source))):
        trial.findings.append(Finding("DB001", "the program is no SqliteToolEnv, or never sets _expected_changes"))
        return
    inside = await trial.open(_probe_for(trial.source))
    seeds = trial.seeds
    worlds = [await inside.call("spadework_world", seed) for seed in seeds[:3]]
    trial.findings.extend(_reset_gate(worlds, seeds))
    trial.findings.extend(await _probe_calls(inside, seeds[0]))
    await _idle(trial)
    if trial.bench is not None:
        await _random(trial, inside)
        await _too_much(trial, inside)


def _probe_for(source: str) -> str:
    """The probes of tool use and of databases, with their functions as methods of the environment."""
    env = Program(parse_python(source)).env
    methods = [f"{env.name}.spadework_{name} = spadework_{name}" for name in _PROBES] if env else []
    return "\n".join([criteria.probe_for(source), _probe(), *methods, ""])


@cache
def _probe() -> str:
    return Path(__file__).with_name("database_probe.py").read_text(encoding="utf-8")


def _reset_gate(worlds: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> Iterator[Finding]:
    """The database after reset: whole, the same again, untouched, and with something to be done."""
    told: dict[str, Finding] = {}
    for seed, world in zip(seeds, worlds, strict=False):
        for finding in _of_one_reset(seed, world):
            told.setdefault(finding.code, finding)
    yield from told.values()
    if len(worlds) > 1 and len({world["content"] for world in worlds}) == 1:
        yield Finding("DB104", f"{len(worlds)} seeds give the same rows in every table")
    small = [f"{worlds[0][what]} {what}" for what, least in _SIZES.items() if worlds[0][what] < least]
    if small:
        yield Finding("DB002", f"the world has {', '.join(small)}")


def _of_one_reset(seed: int, world: Mapping[str, Any]) -> Iterator[Finding]:
    if not world["expects"]:
        yield Finding("DB001", f"on seed {seed} _expected_changes holds no row")
    if not world["repeats"]:
        yield Finding("DB101", f"two resets with seed {seed} give different rows")
    if world["dangling"]:
        yield Finding("DB102", f"on seed {seed} a row of {world['dangling']} points at a row that is not there")
    if world["touched"]:
        names = ", ".join(world["touched"])
        yield Finding("DB103", f"on seed {seed} {names} differs after reset from what was filled in")


async def _probe_calls(inside: Session, seed: int) -> list[Finding]:
    """The plan's calls must work; calls for nobody, and calls that fail, must change nothing."""
    findings = []
    if failed := await inside.call("spadework_planned", seed):
        findings.append(Finding("DB201", f"{failed[0]} with {failed[1]!r:.80} says {failed[2]!r:.80}"))
    bad = await inside.call("spadework_bad_calls", seed)
    if bad["nobody"]:
        findings.append(Finding("DB202", f"tool {bad['nobody'][0]} called with {bad['nobody'][1]!r:.100}"))
    if bad["half"]:
        findings.append(Finding("DB203", f"tool {bad['half'][0]} called with {bad['half'][1]!r:.100}"))
    return findings


async def _idle(trial: Trial) -> None:
    """Who answers at once must not be paid, in part or in whole."""
    plays = await recite(trial.session, [(seed, (_DONE,)) for seed in trial.seeds])
    paid = [play for play in plays if play.steps and play.steps[-1].reward > 0]
    if paid:
        reward = paid[0].steps[-1].reward
        trial.findings.append(Finding("DB302", f"answering at once is paid {reward:g} on seed {paid[0].seed}"))


async def _random(trial: Trial, inside: Session) -> None:
    """Who calls tools at random must not win."""
    assert trial.bench is not None
    scripts = []
    for index in range(_RANDOM_PLAYS):
        seed = trial.bench.seed(index)
        calls = await inside.call("spadework_random_calls", seed, trial.bench.turns - 1)
        scripts.append((seed, [*(render_call(name, arguments) for name, arguments in calls), _DONE]))
    wins = sum(await trial.bench.wins("random calls", scripts))
    if wins:
        trial.findings.append(Finding("ENV403", f"a player of random calls wins {wins} of {len(scripts)} plays"))


async def _too_much(trial: Trial, inside: Session) -> None:
    """Who does all that the oracle does, and then one change more, must not win."""
    assert trial.bench is not None
    scripts, calls = [], []
    for play in trial.solved[:2]:
        if not play.win:
            continue
        for name, arguments in await inside.call("spadework_too_much", play.seed):
            calls.append(f"{name} with {arguments!r:.80}")
            extra = render_call(name, arguments)
            scripts.append((play.seed, [*play.actions[:-1], f"{extra}{play.actions[-1]}"]))
    for call, win in zip(calls, await trial.bench.wins("over-eager", scripts), strict=True):
        if win:
            trial.findings.append(Finding("DB301", f"after all that was asked, {call} still wins"))
            return
