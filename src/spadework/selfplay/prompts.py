"""The prompts of both roles: Markdown files with ``$name`` places, filled here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

from spadework.config import DesignerSection, HintSection, PlaySection
from spadework.policies.base import Message
from spadework.selfplay.records import Example
from spadework.types import Document, Domain

_LABELS = {
    "good": "A good environment from earlier, for its form and level (write a different game):",
    "too easy": "An environment that was too easy; avoid what makes it so:",
    "too hard": "An environment that was too hard; avoid what makes it so:",
}
FENCE = "```"


@cache
def load_prompt(name: str) -> Template:
    """The shipped prompt ``name``."""
    return Template(files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())


def design_messages(
    settings: DesignerSection, domain: Domain, document: Document | None, skill: str, examples: Sequence[Example]
) -> tuple[list[Message], str]:
    """The designer's opening and the prefill of its reply.

    In skeleton mode examples stand as earlier exchanges without their documents, and the head of the program (imports,
    class line) is given; otherwise they stand in the prompt with their labels.
    """
    if settings.skeleton:
        shown = [message for example in examples for message in _exchange(example, skill)]
        task = document or Document("free", "any small idea of your own", {"title": skill})
        return [*skeleton_opening(domain), *shown, skeleton_request(domain, task, skill)], skeleton_head(task.title)
    text = f"{document.text}" if document else "(none: choose a topic of your own)"
    shown_text = "\n\n".join(f"{_LABELS[e.label]}\n\n{FENCE}python\n{e.source.strip()}\n{FENCE}" for e in examples)
    content = load_prompt(f"designer_{domain}").substitute(
        skill=skill, document=text, examples=f"# Examples\n\n{shown_text}\n" if shown_text else ""
    )
    system = load_prompt(f"designer_{domain}_system").template
    return [Message(role="system", content=system), Message(role="user", content=content)], ""


def skeleton_opening(domain: Domain) -> list[Message]:
    """The system prompt of a small designer."""
    return [Message(role="system", content=load_prompt(f"designer_{domain}_skeleton_system").template)]


def skeleton_request(domain: Domain, document: Document, skill: str) -> Message:
    """What a small designer is asked for one document."""
    content = load_prompt(f"designer_{domain}_skeleton").substitute(
        title=document.title, document=document.text, skill=skill
    )
    return Message(role="user", content=content)


def skeleton_head(title: str) -> str:
    """The given head of a program: fence, imports and a class line named for the document."""
    return f"{FENCE}python\nimport random\n\n\nclass {class_name(title)}:\n"


def class_name(title: str) -> str:
    """``Division with remainder`` -> ``DivisionWithRemainderEnv`` (at most six words of letters)."""
    words = re.findall(r"[A-Za-z]+", title)[:6]
    return "".join(word[0].upper() + word[1:] for word in words) + "Env"


def split_program(source: str) -> tuple[str, str]:
    """A program as (head up to and with its class line, body), as a skeleton design is prefilled and sampled."""
    match = re.search(r"^class \w+Env\b.*:\n", source, re.MULTILINE)
    if match is None:
        raise ValueError("the program has no class line")
    return f"{FENCE}python\n{source[: match.end()].lstrip()}", source[match.end() :].rstrip() + f"\n{FENCE}"


def _exchange(example: Example, skill: str) -> list[Message]:
    request = f"{_LABELS[example.label]}\nSkill: {skill}\nWrite the environment."
    program = f"{FENCE}python\n{example.source.strip()}\n{FENCE}"
    return [Message(role="user", content=request), Message(role="assistant", content=program)]


def skeleton_hint_request(domain: Domain) -> Message:
    """What a small designer is asked right after its program: the hint reuses what the model has just read."""
    return Message(role="user", content=load_prompt(f"hint_{domain}_skeleton").template)


def hint_messages(settings: HintSection, domain: Domain, source: str, history: Sequence[Message] = ()) -> list[Message]:
    """What the model is asked for a hint: the program and the rules of method section 5.

    ``history`` is a small designer's conversation up to its request; the program then stands as its reply.
    """
    if history:
        program = Message(role="assistant", content=f"{FENCE}python\n{source.strip()}\n{FENCE}")
        return [*history, program, skeleton_hint_request(domain)]
    request = load_prompt(f"hint_{domain}").substitute(source=source.strip(), max_words=settings.max_words)
    return [Message(role="user", content=request)]


def agent_opening(settings: PlaySection, domain: Domain) -> tuple[Message, ...]:
    """The agent's system prompt and few-shot exchanges; it never changes within a run."""
    system = settings.system or load_prompt(f"agent_{domain}_system").template
    shots = [
        message
        for shot in settings.few_shots
        for message in (
            Message(role="user", content=shot.observation),
            Message(role="assistant", content=shot.reply),
        )
    ]
    return (Message(role="system", content=system), *shots)
