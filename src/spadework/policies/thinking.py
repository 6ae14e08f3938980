"""Thinking before an answer: what a role asks for, and how a chat template is told.

Templates differ in the name of their switch. So the switch is found by rendering one prompt with each known name set to
true and to false: the name is the one that makes a difference. Qwen3 writes an empty thought into the prompt when
thinking is off; other templates open a thought in the prompt when it is on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from spadework.errors import ConfigError
from spadework.scan import THINK, THINK_END

Thinking = Literal["off", "on"] | int | None
"""Off, on, at most so many tokens, or ``None``: as the template does by default."""

SWITCHES = ("enable_thinking", "thinking")
"""Names that chat templates give to their switch."""


@dataclass(frozen=True, slots=True)
class Thought:
    """The texts around a thought, as one template writes them."""

    opened: str
    """What the template's own prompt opens a thought with; empty where it leaves that to the model."""
    opening: str
    """What opens a thought after the prompt; empty where the prompt has opened it."""
    closing: str
    """What ends a thought that has used up its budget."""


@runtime_checkable
class Switchable(Protocol):
    """A policy that knows what thinking it can be asked for."""

    def check_thinking(self, thinking: Thinking) -> None:
        """Raises ``ConfigError`` where it cannot do what is asked for."""
        ...


def check_thinking(policy: object, asked: Mapping[str, Thinking]) -> None:
    """See, before a run starts, that a policy can think as each key of the config asks it to.

    Raises:
        ConfigError: It cannot; the text begins with the key.
    """
    for key, thinking in asked.items():
        if not isinstance(policy, Switchable):
            continue  # a script or a person has no thoughts to switch
        try:
            policy.check_thinking(thinking)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None


def template_options(thinking: Thinking, render: Callable[[Mapping[str, Any]], str], source: str) -> dict[str, bool]:
    """The variables that make a template think or not.

    Args:
        thinking: What is asked for.
        render: The template's prompt for an assistant's turn under some variables.
        source: The template itself.

    Raises:
        ConfigError: The template cannot do what is asked for.
    """
    if thinking is None:
        return {}
    name = _switch(render)
    options = {name: thinking != "off"} if name else {}
    if thinking == "off":
        if _opened(render(options)):
            raise ConfigError('thinking = "off": this model\'s chat template always opens a thought. Leave it unset')
    elif not name and THINK_END not in source and not _opened(render(options)):
        raise ConfigError(f"thinking = {thinking!r}: this model's chat template knows no thinking. Leave it unset")
    return options


def thought_of(options: Mapping[str, Any], render: Callable[[Mapping[str, Any]], str]) -> Thought:
    """The texts around a thought of a template that is rendered under ``options``."""
    name = _switch(render)
    _, ended, after = render({**options, name: False}).rpartition(THINK_END) if name else ("", "", "")
    opened = _opened(render(options))
    opening = opened or f"{THINK}\n"
    before = "\n" if opening.endswith("\n") else ""
    closing = before + THINK_END + (after if ended else "\n\n")
    return Thought(opened, "" if opened else opening, closing)


def _switch(render: Callable[[Mapping[str, Any]], str]) -> str | None:
    for name in SWITCHES:
        if render({name: True}) != render({name: False}):
            return name
    return None


def _opened(prompt: str) -> str:
    """The end of the prompt from a thought's opening tag on; empty where no thought is open."""
    _, found, after = prompt.rpartition(THINK)
    return THINK + after if found and THINK_END not in after else ""
