"""Tool use: the agent serves a user by calling the tools of a simulated service, whose final state is judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from types import MappingProxyType

from spadework.domains.tool_tasks import describe_task, draw_task
from spadework.domains.tool_use_demo import tool_script
from spadework.envs.check.findings import Finding
from spadework.envs.check.players import Play
from spadework.envs.check.runtime import Trial
from spadework.envs.check.static import tools as schemas
from spadework.envs.check.syntax import Program
from spadework.envs.check.tool_use import criteria
from spadework.envs.domain import Briefing, Checks, Dialogue, Display, Domain, Shown, Task
from spadework.envs.tool_calls import parse_reply, played_text
from spadework.resources import shipped
from spadework.types import Message

SKILLS = (
    "API Orchestration",
    "Data Retrieval",
    "State Modification",
    "Error Recovery",
    "Tool Selection",
    "Multi-Step Workflows",
)
USER = "User: "
"""Marks the next instruction of the user in an observation."""

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_CALL_TAGS = ("<tool_call>", "<function=", "<answer>")


_STATE = """\
def spadework_state(env):
    state = getattr(env, "_state", None)
    if not hasattr(state, "execute"):
        return state
    names = [row[0] for row in state.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: _spadework_rows(state, name) for name in names}


def _spadework_rows(connection, table):
    # A row keeps its rowid while others come and go; a table without rowids is numbered.
    try:
        rows = connection.execute(f"SELECT rowid AS spadework_row, * FROM {table}").fetchall()
    except Exception:
        rows = [{"spadework_row": n, **dict(row)} for n, row in enumerate(connection.execute(f"SELECT * FROM {table}"))]
    return {str(row["spadework_row"]): {key: row[key] for key in row.keys() if key != "spadework_row"} for row in rows}
"""


class ToolCalls(Dialogue):
    """A reply holds calls or an answer; tools and the user reply."""

    def action(self, reply: str) -> str:
        """All of a reply but its thinking, if it holds a call or an answer; else nothing."""
        return played_text(reply) or ""

    def malformed(self, action: str) -> bool:
        """Whether some call cannot be read."""
        return bool(parse_reply(action).problems)

    def messages(self, observation: str, action: str) -> list[Message]:
        """After calls, readable or not, the tools speak; an instruction (a line that begins with ``User:``) follows.

        After anything else the user speaks.
        """
        read = parse_reply(action)
        if not (read.calls or read.problems):
            return [Message(role="user", content=observation.removeprefix(USER))]
        results, mark, instruction = observation.partition(f"\n{USER}")
        messages = [Message(role="tool", content=results)]
        return [*messages, Message(role="user", content=instruction)] if mark else messages

    def encode(self, answer: str) -> str:
        """The answer between answer tags, unless it is a call."""
        tagged = any(tag in answer for tag in _CALL_TAGS)
        return answer if tagged else f"<answer>{answer}</answer>"

    def decode(self, action: str) -> str | None:
        """What stands between answer tags; ``None`` for calls."""
        match = _ANSWER.search(action)
        return match.group(1).strip() if match else None


class ToolChecks(Checks):
    """Schemas against methods, criteria against states, and tools that must work or fail."""

    bases = frozenset({"ToolUseBaseEnv", "SqliteToolEnv"})
    marks = re.compile(r"\b(?:ToolUseBaseEnv|SqliteToolEnv)\b|\bdef tool_\w+\(")
    idle = MappingProxyType({"answering at once": "<answer>done</answer>"})

    def recognises(self, program: Program) -> bool:
        """Whether a program stands on one of the provided bases or defines tools."""
        return super().recognises(program) or bool(program.tools())

    def static(self, program: Program) -> Iterable[Finding]:
        """Declared schemas against the methods that serve them."""
        return schemas.check(program)

    async def runtime(self, trial: Trial) -> None:
        """Live schemas; criteria and tools, looked at from inside of an instance of their own."""
        trial.findings.extend(criteria.live_schemas(trial.source, trial.session))
        inside = await trial.open(criteria.probe_for(trial.source))
        seen = await criteria.look(inside, trial.solved, trial.seeds)
        won = bool(trial.solved) and all(each.win for each in trial.solved)
        trial.findings.extend(criteria.judge(self.as_judged(seen), won))
        trial.findings.extend(criteria.underivable(trial.solved, trial.session.tools))

    def as_judged(self, seen: criteria.Look) -> criteria.Look:
        """What the probe saw, as it is judged: each instruction has a criterion of its own."""
        return seen

    def hidden(self, plays: Sequence[Play]) -> set[str]:
        """Concrete arguments of the oracle's calls, which the player has to look up."""
        return criteria.hidden_values(plays)


class ToolBriefing(Briefing):
    """Each design is of one variant of task, about one kind of service."""

    def draw_task(self, seed: int) -> Task:
        """The task of one attempt."""
        return draw_task(seed)

    def example_task(self, variant: str, title: str) -> Task:
        """An example is of its variant, ``execute`` where it names none, and about its own title."""
        return describe_task(variant or "execute", title.lower())


class ToolDisplay(Display):
    """A step is its calls; the state is that of the service."""

    probe = _STATE

    def step(self, action: str) -> list[Shown]:
        """Calls with their arguments, what could not be read, and the answer."""
        read = parse_reply(action)
        shown = [Shown("call", call.name, call.arguments) for call in read.calls]
        shown += [Shown("problem", problem) for problem in read.problems]
        if read.answer is not None:
            shown.append(Shown("text", read.answer))
        return shown


TOOL_USE = Domain(
    name="tool_use",
    briefing=ToolBriefing(
        prompts=files("spadework.domains").joinpath("prompts", "tool_use"),
        skills=SKILLS,
        examples=shipped("examples") / "environments" / "tool_use",
    ),
    dialogue=ToolCalls(),
    checks=ToolChecks(),
    display=ToolDisplay(),
    demo=tool_script,
)
