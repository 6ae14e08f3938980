"""Database worlds: the agent works on a relational database through tools, and the change that it leaves is judged.

After Agent World Model (schema, seed data, tools over SQL, a check of the difference), with EnvScaler's probes of tools
and the harder ways of asking of EnvFactory and ScaleEnv. Programs derive from ``SqliteToolEnv`` and declare the whole
difference that the end may show in ``_expected_changes``. The player sees tools and their results, never SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.resources import files

from spadework.domains import database_checks
from spadework.domains.database_demo import database_script
from spadework.domains.database_tasks import STEPS_PAID, STEPS_UNPAID, describe_task, draw_task
from spadework.domains.tool_use import ToolCalls, ToolChecks, ToolDisplay
from spadework.envs.check.findings import Finding
from spadework.envs.check.runtime import Trial
from spadework.envs.check.syntax import Program
from spadework.envs.check.tool_use import criteria
from spadework.envs.domain import Briefing, Domain, Task
from spadework.resources import shipped

SKILLS = (
    "Relational Lookup",
    "Multi-Table Updates",
    "Constraint Handling",
    "Set-Based Changes",
    "Tool Selection",
    "Intent Inference",
)

_STATE = """\
def spadework_state(env):
    connection = env._state
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: _spadework_by_key(connection, name) for name in names}


def _spadework_by_key(connection, table):
    # A row is found again by its primary key. Without one its place has to do.
    keys = [row["name"] for row in connection.execute(f"PRAGMA table_info({table})") if row["pk"]]
    found = {}
    for place, row in enumerate(connection.execute(f"SELECT * FROM {table}")):
        name = ", ".join(str(row[key]) for key in keys) if keys else str(place)
        found[name] = {column: row[column] for column in row.keys()}
    return found
"""


class DatabaseChecks(ToolChecks):
    """The checks of tool use, and those of databases: reset gate, probes of the tools, players who do too much."""

    bases = frozenset({database_checks.BASE})
    marks = re.compile(r"\b_expected_changes\b")
    codes = database_checks.CODES

    def recognises(self, program: Program) -> bool:
        """Whether a program stands on the database base and declares the difference that it expects."""
        return database_checks.is_world(program)

    def static(self, program: Program) -> Iterable[Finding]:
        """The rules of tool use, and that no SQL is put together from what the player says."""
        yield from super().static(program)
        yield from database_checks.spliced_sql(program)

    def as_judged(self, seen: criteria.Look) -> criteria.Look:
        """The criteria are one check list for all instructions, so their numbers need not agree."""
        listed = seen.facts["criteria"]
        return replace(seen, facts={**seen.facts, "messages": listed, "declined": []}) if listed else seen

    async def runtime(self, trial: Trial) -> None:
        """What tool use checks, then the database, the calls and the players who do too much."""
        await super().runtime(trial)
        await database_checks.check(trial)


@dataclass(frozen=True)
class DatabaseBriefing(Briefing):
    """Each design is of one variant of task, about one kind of place."""

    pay_steps: bool = False
    """Whether designs are asked to pay a little for each step whose calls could be read."""

    def draw_task(self, seed: int) -> Task:
        """The task of one attempt."""
        return self._with_steps(draw_task(seed))

    def example_task(self, variant: str, title: str) -> Task:
        """An example is of its variant, ``explicit`` where it names none, and about its own title."""
        return self._with_steps(describe_task(variant or "explicit", title.lower()))

    def _with_steps(self, task: Task) -> Task:
        return replace(task, places={**task.places, "steps": STEPS_PAID if self.pay_steps else STEPS_UNPAID})


class DatabaseDisplay(ToolDisplay):
    """A step is its calls; the state is every table, each row under its primary key."""

    probe = _STATE


_BRIEFING = DatabaseBriefing(
    prompts=files("spadework.domains").joinpath("prompts", "database"),
    skills=SKILLS,
    examples=shipped("examples") / "environments" / "database",
    noun="database world",
)
DATABASE = Domain(
    name="database",
    briefing=_BRIEFING,
    dialogue=ToolCalls(),
    checks=DatabaseChecks(),
    display=DatabaseDisplay(),
    demo=database_script,
)
PAID_STEPS = replace(DATABASE, briefing=replace(_BRIEFING, pay_steps=True))
"""The same with a reward for the form of each step: ``domain = "spadework.domains.database:PAID_STEPS"``."""
