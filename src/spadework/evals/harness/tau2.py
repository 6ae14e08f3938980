"""tau2-bench's own orchestrator, environments, users and evaluator, run with policies in place of its model client.

tau2-bench reaches models only through its function ``generate``, over a large client library. Agent and user here are
tau2-bench's classes with that one call replaced, so the library need not be installed. ``stand_in`` makes tau2-bench
importable without it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from loguru import logger

from spadework.envs.tool_calls import render_call
from spadework.errors import GraderError
from spadework.evals.harness_policy import HarnessPolicy, HarnessReply
from spadework.policies.base import Message

_UNUSED = ("litellm", "litellm.caching", "litellm.caching.caching", "litellm.main", "pandas")
"""Modules that tau2-bench imports and a play never uses: its model client, and pandas for its reports."""


class _Unused(ModuleType):
    """A module in which every name is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def stand_in() -> Iterator[None]:
    """A context in which imports of the unused modules succeed where they are missing. Leaving it removes the fakes."""
    missing = [name for name in _UNUSED if importlib.util.find_spec(name.split(".")[0]) is None]
    for name in missing:
        sys.modules[name] = _Unused(name)
        sys.modules[name].__path__ = []
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


logger.disable("tau2")

with stand_in():
    from tau2.agent.llm_agent import LLMAgent
    from tau2.data_model.message import AssistantMessage, MultiToolMessage, ToolCall, ToolMessage, UserMessage
    from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
    from tau2.orchestrator.orchestrator import Orchestrator
    from tau2.registry import registry
    from tau2.user.user_simulator import UserSimulator


@dataclass(frozen=True, slots=True)
class Played:
    """The outcome of one play."""

    reward: float
    ended: str
    """The reason why the play ended, in the harness's words."""
    messages: int
    last: str
    """The text of the last message."""
    parts: dict[str, float]
    """The components of the reward, by name."""


class SilentAgentError(Exception):
    """The agent's reply held neither text nor a call, which a tau2-bench message cannot represent."""


def load(domain: str) -> list[Any]:
    """The tasks of a domain's base split."""
    return list(registry.get_tasks_loader(domain)(task_split_name="base"))


def play(domain: str, task: Any, agent: HarnessPolicy, user: HarnessPolicy, limits: tuple[int, int]) -> Played:
    """Play one task; ``limits`` are (steps, errors). It blocks: run it in a thread. Raises ``FaultError``."""
    environment = registry.get_env_constructor(domain)()
    try:
        user_tools = environment.get_user_tools()
    except ValueError:  # the user of this domain has no tools
        user_tools = None
    orchestrator = Orchestrator(
        domain=domain,
        agent=_Agent(agent, environment.get_tools(), environment.get_policy()),
        user=_User(user, user_tools, str(task.user_scenario)),
        environment=environment,
        task=task,
        max_steps=limits[0],
        max_errors=limits[1],
    )
    try:
        simulation = orchestrator.run()
    except SilentAgentError:
        said = orchestrator.get_trajectory()
        return Played(0.0, "agent_error: an empty reply", len(said), "", {})
    verdict = evaluate_simulation(
        simulation=simulation, task=task, evaluation_type=EvaluationType.ALL, solo_mode=False, domain=domain
    )
    parts = {key.value: float(value) for key, value in (verdict.reward_breakdown or {}).items()}
    last = simulation.messages[-1].content or ""
    return Played(verdict.reward, simulation.termination_reason.value, len(simulation.messages), last, parts)


class _Agent(LLMAgent):  # type: ignore[misc, unused-ignore]
    """tau2-bench's agent with its prompt and history; the replies come from a ``HarnessPolicy``."""

    def __init__(self, speaker: HarnessPolicy, tools: list[Any], policy: str) -> None:
        super().__init__(tools=tools, domain_policy=policy)
        self._speaker = speaker

    def generate_next_message(self, message: Any, state: Any) -> tuple[Any, Any]:
        state.messages.extend(_single(message))
        said = _ask(self._speaker, [*state.system_messages, *state.messages], self.tools)
        if not (said.text or said.calls):
            raise SilentAgentError
        reply = AssistantMessage(role="assistant", content=said.text or None, tool_calls=_calls(said, "assistant"))
        reply.raw_data = {"raw": said.raw}
        state.messages.append(reply)
        return reply, state


class _User(UserSimulator):  # type: ignore[misc, unused-ignore]
    """tau2-bench's simulated user; the replies come from a ``HarnessPolicy``."""

    def __init__(self, speaker: HarnessPolicy, tools: list[Any] | None, instructions: str) -> None:
        super().__init__(tools=tools, instructions=instructions)
        self._speaker = speaker

    def generate_next_message(self, message: Any, state: Any) -> tuple[Any, Any]:
        state.messages.extend(_single(message))
        said = _ask(self._speaker, [*state.system_messages, *_flipped(state)], self.tools or [])
        if not (said.text or said.calls):
            raise GraderError("user-silent", "the simulated user said nothing", said.raw[:300])
        reply = UserMessage(role="user", content=said.text or None, tool_calls=_calls(said, "user"))
        reply.raw_data = {"raw": said.raw}
        state.messages.append(reply)
        return reply, state


def _flipped(state: Any) -> list[Any]:
    """The history with the roles of user and agent swapped by tau2-bench's method, and with replies as sampled."""
    flipped = list(state.flip_roles())
    for message, turned in zip(state.messages, flipped, strict=True):
        if isinstance(message, UserMessage):
            turned.raw_data = message.raw_data
    return flipped


def _single(message: Any) -> list[Any]:
    return list(message.tool_messages) if isinstance(message, MultiToolMessage) else [message]


def _ask(speaker: HarnessPolicy, history: Sequence[Any], tools: Sequence[Any]) -> HarnessReply:
    return speaker.reply_in_thread(
        [_our_message(message) for message in history], [tool.openai_schema for tool in tools]
    )


def _our_message(message: Any) -> Message:
    """Convert tau2-bench's message to ours: a sampled reply keeps its raw text; other calls are written out as text."""
    if isinstance(message, ToolMessage):
        return Message(role="tool", content=message.content or "")
    if not isinstance(message, AssistantMessage):
        return Message(role=message.role, content=message.content or "")
    if message.raw_data:
        return Message(role="assistant", content=message.raw_data["raw"])
    calls = [render_call(call.name, call.arguments) for call in message.tool_calls or ()]
    return Message(role="assistant", content="\n".join([*filter(None, [message.content]), *calls]))


def _calls(said: HarnessReply, requestor: str) -> list[Any] | None:
    calls = [
        ToolCall(id=f"call{place}", name=call.name, arguments=call.arguments, requestor=requestor)
        for place, call in enumerate(said.calls)
    ]
    return calls or None
