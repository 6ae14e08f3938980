"""What differs between kinds of environment: a domain and its parts.

A domain is one object. Each part of it answers one question, has defaults that suit a plain exchange of text, and is
changed by subclassing:

* ``Dialogue``: how does a reply become an action, and an observation a message?
* ``Checks``: what is checked beyond the rules that hold in every domain?
* ``Briefing``: what are designer, hint writer and agent told, and what is a design asked to be about?
* ``Display``: how are a step, a state and a difference of two states shown?

Everything else (sandbox, panel, self-play, scores, training) is the same in every domain and asks these parts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from spadework.errors import ConfigError
from spadework.types import Message

if TYPE_CHECKING:
    from spadework.envs.check.codes import Code
    from spadework.envs.check.findings import Finding
    from spadework.envs.check.players import Play
    from spadework.envs.check.runtime import Trial
    from spadework.envs.check.syntax import Program

Demo = Callable[[Sequence[Message], random.Random, int], str]
"""(messages so far, generator of this request, policy version) -> reply, in the place of a model."""


class Dialogue:
    """How an agent and a program talk. By default the whole reply is the action, and the program speaks as the user."""

    def action(self, reply: str) -> str:
        """What the program is given of a reply; empty where the reply holds no action."""
        return reply.strip()

    def malformed(self, action: str) -> bool:
        """Whether an action that is not empty breaks the form that was asked for."""
        return False

    def messages(self, observation: str, action: str) -> list[Message]:
        """The observation that followed ``action``, as messages from those who say it."""
        return [Message(role="user", content=observation)]

    def encode(self, answer: str) -> str:
        """The action that gives ``answer``; an answer that is an action already stays as it is."""
        return answer

    def decode(self, action: str) -> str | None:
        """The answer that an action gives; ``None`` for an action that gives none, such as a tool call."""
        return action


class Checks:
    """What is checked beyond the rules of every domain. By default nothing is."""

    bases: frozenset[str] = frozenset()
    """Classes that the sandbox provides and that only programs of this domain derive from."""
    marks: re.Pattern[str] | None = None
    """What only the text of this domain's programs holds. Large pools are sorted by it, without being parsed."""
    codes: Mapping[str, Code] = MappingProxyType({})
    """The domain's own entries of the catalogue of findings, by code."""
    idle: Mapping[str, str] = MappingProxyType({})
    """Description -> action of players who do nothing and must not win, beside the one who says nothing."""

    def recognises(self, program: Program) -> bool:
        """Whether a parsed program is of this domain."""
        return bool(self.bases & program.base_names)

    def static(self, program: Program) -> Iterable[Finding]:
        """Findings on the parsed source."""
        return ()

    async def runtime(self, trial: Trial) -> None:
        """Append to ``trial.findings`` what running the program shows; called after the panel's players have played."""

    def hidden(self, plays: Sequence[Play]) -> Collection[str]:
        """Values of the oracle's plays that a player has to find out, so that a hint must not name them."""
        return ()


@dataclass(frozen=True, slots=True)
class Task:
    """What a design is asked to be about beside its document."""

    variant: str
    """Recorded with the design."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Fills the ``$name`` places of the designer's prompt that only this domain has."""


@dataclass(frozen=True)
class Briefing:
    """What the model is told in each role.

    ``prompts`` is a folder of Markdown files with ``$name`` places. Every domain has ``designer``, ``designer_system``,
    ``hint`` and ``agent_system``. The others switch a feature on: ``designer_skeleton``, ``designer_skeleton_system``,
    ``head`` and ``hint_skeleton`` (designs of small models), ``designer_FORM`` (``designer.form``), ``model_check``,
    and the grammar ``skeleton.lark``.
    """

    prompts: Traversable
    skills: tuple[str, ...]
    """Skills that designs train, where ``designer.skills`` names no others."""
    active_skills: int | None = None
    """Skills in use at a time, where ``designer.active_skills`` is unset; ``None`` for all of them."""
    examples: Path | None = None
    """A folder of example environments, each a ``NAME.py`` and a ``NAME.toml``."""
    noun: str = "environment"
    """What the designer's prompt calls an environment."""
    own: Mapping[str, str] = field(default_factory=dict, hash=False)
    """File name -> text that a config gives in the place of that prompt."""

    def draw_task(self, seed: int) -> Task | None:
        """What one design is asked to be about; ``None`` in a domain without variants."""
        return None

    def example_task(self, variant: str, title: str) -> Task | None:
        """What an example answers that calls itself ``variant``. Raises ``ValueError`` for an unknown variant."""
        return None

    def has(self, name: str) -> bool:
        """Whether there is a file ``name`` among the prompts."""
        return name in self.own or self.prompts.joinpath(name).is_file()

    def text(self, name: str) -> str:
        """The file ``name`` among the prompts. Raises ``ConfigError`` where there is none."""
        if name in self.own:
            return self.own[name]
        file = self.prompts.joinpath(name)
        if not file.is_file():
            raise ConfigError(f"{file}: the file is missing; the domain's prompts are read from that folder")
        return file.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Shown:
    """One piece of a step as plain data: a text, a call with its arguments, or a problem."""

    kind: Literal["text", "call", "problem"]
    text: str
    """The text; for a call the name of what is called."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One place in which two states differ; ``None`` stands for a value that is not there."""

    where: str
    """Keys from the root, with slashes between: ``orders/7/status``."""
    before: Any
    after: Any


class Display:
    """How a play is shown, as plain data that the viewer, the terminal and an export render alike."""

    probe: str = "def spadework_state(env):\n    return vars(env)\n"
    """Source of ``spadework_state(env)``, which gives the state of a running environment; by default its attributes.

    It runs inside the sandbox, in an instance of its own (``envs.watch``). Of what it gives, dictionaries,
    lists, sets, texts and numbers are shown; anything else is named by its type.
    """

    def step(self, action: str) -> list[Shown]:
        """An action in its pieces."""
        return [Shown("text", action)] if action else []

    def difference(self, before: Any, after: Any) -> list[Change]:
        """Where two states differ, in the order of the keys."""
        return list(_differences("", before, after))


_ABSENT = object()


def _differences(where: str, before: Any, after: Any) -> Iterable[Change]:
    """Dictionaries are compared key by key, and lists of one length item by item; other values as a whole."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            below = f"{where}/{key}" if where else str(key)
            yield from _differences(below, before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(f"{where}/{index}" if where else str(index), old, new)
    elif before != after:
        yield Change(where, None if before is _ABSENT else before, None if after is _ABSENT else after)


@dataclass(frozen=True)
class Domain:
    """A kind of environment."""

    name: str
    """Stands in configs, runs and pools, and finds the domain again (``envs.registry.find_domain``)."""
    briefing: Briefing
    dialogue: Dialogue = field(default_factory=Dialogue)
    checks: Checks = field(default_factory=Checks)
    display: Display = field(default_factory=Display)
    demo: Demo | None = None
    """Plays every role of a short run in the place of a model: what ``model.name = "scripted"`` runs on."""
