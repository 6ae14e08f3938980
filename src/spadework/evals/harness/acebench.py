"""ACEBench's prompts, parser, simulated APIs and checker, loaded from evalscope's files without importing evalscope.

Importing evalscope would import the dependencies of every benchmark, including a model hub and an embedder. The files
that ACEBench needs import only each other, so they are loaded straight from the installed wheel under a package name of
our own. Only the loop between agent, user and APIs is ours, because evalscope's loop is tied to its clients and traces.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

Ask = Callable[[list[tuple[str, str]]], Awaitable[str]]
"""Asks a model for the next message, given the conversation as (role, text) pairs."""
_LANGUAGE = "en"
_ALIAS, _WORLD = "spadework_acebench", "spadework_acebench_world"


def _package(name: str, folder: Path) -> None:
    """Register a folder as an importable package without running its ``__init__``."""
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    sys.modules[name] = importlib.util.module_from_spec(spec)


def _part(name: str) -> Any:
    return importlib.import_module(f"{_ALIAS}.{name}")


def _strings(source: Path) -> dict[str, str]:
    """The names that a file assigns plain strings to, with those strings; the file is parsed and not run."""
    nodes = [node for node in ast.parse(source.read_text("utf-8")).body if isinstance(node, ast.Assign)]
    return {
        node.targets[0].id: node.value.value
        for node in nodes
        if isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


_found = importlib.util.find_spec("evalscope")  # this locates the package without importing it
_root = Path((_found.submodule_search_locations or [""])[0] if _found else "")
_package(_ALIAS, _root / "benchmarks" / "acebench")
_package(_WORLD, _root / "third_party" / "acebench")
_checker, _parser, _prompts, _scenarios = map(_part, ("checker", "parser", "prompts", "scenarios"))
_scenarios.VENDORED_PACKAGE = _WORLD
_constants = _strings(_root / "benchmarks" / "acebench" / "rollout.py")
UNREADABLE = (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError, SystemError)
"""The exceptions that ACEBench's parser raises on a message without calls."""
FINISHED, NUDGE = _constants["FINISH_MARKER"], _constants["DECODE_ERROR_NUDGE"]


@dataclass
class Scene:
    """The state of one task while it is played."""

    category: str
    """``agent_multi_step`` or ``agent_multi_turn``."""
    question: str
    functions: Sequence[Any]
    classes: Sequence[str]
    world: Mapping[str, Any]
    """Instances of the simulated APIs, by class name."""
    transcript: str = ""
    calls: list[str] = field(default_factory=list)
    """The agent's messages to the APIs."""
    finished: bool = False

    @classmethod
    def begin(cls, row: Mapping[str, Any], category: str) -> Scene:
        """Start the task of one row of the data, with its APIs in their initial state."""
        world = _scenarios.load_scenario_instances(row["initial_config"], row["involved_classes"], _LANGUAGE)
        return cls(category, row["question"], row["function"], row["involved_classes"], world)

    async def agent(self, ask: Ask) -> str:
        """The agent's next message. As the protocol demands, every request is one prompt with the whole transcript."""
        system, user = _prompts.build_agent_prompts(
            self.transcript, self.functions, self.classes, self.category, _LANGUAGE
        )
        return await ask([("system", system), ("user", user)])

    def tell(self, sender: str, message: Any) -> None:
        """Append a message to the transcript."""
        self.transcript += f"{sender}:{message}\n"

    def execute(self, message: str) -> list[Any]:
        """Run the calls in a message. Raises one of ``UNREADABLE`` when the message holds none."""
        self.calls.append(message)
        decoded = _parser.decode_execution_calls(message)
        return [self._call(name, arguments) for call in decoded for name, arguments in call.items()]

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one call on every API that has the method, because the APIs share the device's state by inheritance."""
        methods = [getattr(api, name, None) for api in self.world.values() if not name.startswith("_")]
        outcome: Any = f"Error during execution: name '{name}' is not defined"
        try:
            for method in filter(callable, methods):
                outcome = method(**arguments)
        except Exception as error:  # noqa: BLE001 - the agent sees the error as the call's result
            outcome = f"Error during execution: {error}"
        return _shown_to_agent(outcome)

    def graded(self, answer: Any, milestones: Any) -> tuple[bool, float, str]:
        """Grade the end state: whether it is right, the share of milestones that were passed, and what is wrong."""
        verdict = _checker.check_agent_end_state(_scenarios.snapshot_states(self.world), answer)
        process = _checker.milestone_accuracy(self.calls, milestones)
        return verdict["valid"], 1.0 if verdict["valid"] else process, "" if verdict["valid"] else str(verdict["error"])


async def play(scene: Scene, agent: Ask, user: Ask | None, steps: int) -> None:
    """Play a task until it ends, or until ``steps`` messages (of anyone) have followed the first."""
    if scene.category == "agent_multi_step":
        await _multi_step(scene, agent, steps)
    elif user is not None:
        await _multi_turn(scene, agent, _User(scene, user), steps)


async def _multi_step(scene: Scene, agent: Ask, steps: int) -> None:
    """Play with the agent and the APIs alone. The transcript holds what the agent was shown, never its own messages."""
    sender, message = "user", scene.question
    for step in range(steps):
        if sender == "agent":
            try:
                message = str(scene.execute(message))
            except UNREADABLE:
                message = NUDGE
            sender = "execution result"
        else:
            scene.tell(sender, message)
            sender, message = "agent", await scene.agent(agent)
        if step > 1 and FINISHED in message:
            scene.finished = True
            return


async def _multi_turn(scene: Scene, agent: Ask, user: _User, steps: int) -> None:
    """Play with user, agent and APIs. An agent message without a call is passed on to the user."""
    sender, message, receiver = "user", await user.speak(), "agent"
    for step in range(steps):
        scene.tell(sender, message)
        if receiver == "user":
            sender, message, receiver = "user", await user.speak(message), "agent"
        elif receiver == "agent":
            sender, message = "agent", await scene.agent(agent)
            receiver = "execution" if _calls_something(message) else "user"
        else:
            sender, message, receiver = "execution", str(scene.execute(message)), "agent"
        if step > 1 and FINISHED in message:
            scene.finished = True
            return


class _User:
    """The simulated user with its side of the conversation."""

    def __init__(self, scene: Scene, ask: Ask) -> None:
        system = _prompts.build_user_simulator_prompt(scene.question, scene.classes, _LANGUAGE)
        self._heard = [("system", system), ("user", _prompts.agent_prompt_set(_LANGUAGE)["user_opening"])]
        self._ask = ask

    async def speak(self, heard: str = "") -> str:
        """The user's next message, in answer to the agent's message ``heard``."""
        if heard:
            self._heard.append(("user", heard.removeprefix("user:").removeprefix("agent:")))
        said = await self._ask(self._heard)
        self._heard.append(("assistant", said))
        return said


def _calls_something(message: str) -> bool:
    """Whether a message is for the APIs: it has a bracketed list on one line that parses as calls."""
    if not re.search(r"\[.*\]", message):
        return False
    try:
        _parser.decode_execution_calls(message)
    except UNREADABLE:
        return False
    return True


def _shown_to_agent(outcome: Any) -> Any:
    """A call's result in the form that the agent sees: JSON text is parsed, and what JSON cannot hold becomes text."""
    try:
        return json.loads(outcome if isinstance(outcome, str) else json.dumps(outcome))
    except (TypeError, ValueError):
        return str(outcome)
