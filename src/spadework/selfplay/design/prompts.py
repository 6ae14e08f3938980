"""The prompts of both roles: Markdown files with ``$name`` places, filled here and nowhere else.

A domain brings its own files (``envs.domain.Briefing``), and a config may replace them
(``domains.prompt_settings``); ``levels.md`` is the same in all domains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from spadework.config import DesignerSection, HintSection, PlaySection
from spadework.envs.domain import Domain, Task
from spadework.errors import ConfigError
from spadework.policies.base import Message
from spadework.selfplay.records import Example
from spadework.types import Document

_LABELS = {
    "good": "A good environment from earlier, for its form and level (write a different {kind}):",
    "too easy": "An environment that was too easy; avoid what makes it so:",
    "too hard": "An environment that was too hard; avoid what makes it so:",
}
FENCE = "```"


def load_prompt(domain: Domain, name: str) -> Template:
    """The prompt ``name`` of a domain. Raises ``ConfigError`` for one that the domain does not have."""
    return Template(domain.briefing.text(f"{name}.md").strip())


def fill_prompt(domain: Domain, name: str, places: Mapping[str, object]) -> str:
    """The prompt ``name`` with its places filled. Raises ``ConfigError`` for a place that nothing fills."""
    try:
        return load_prompt(domain, name).substitute(places)
    except KeyError as error:
        problem = f"nothing fills ${error.args[0]}; there are {', '.join(f'${place}' for place in sorted(places))}"
    except ValueError as error:
        problem = f"{error}; write $$ for a dollar sign"
    raise ConfigError(f"{domain.briefing.prompts.joinpath(f'{name}.md')}: {problem}")


def levels_prompt(domain: Domain) -> str:
    """What the designer is told of a constructor that takes ``difficulty``."""
    if domain.briefing.has("levels.md"):
        return domain.briefing.text("levels.md").strip()
    return files(__package__).joinpath("prompts", "levels.md").read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class Brief:
    """What one design is to be about; ``task`` is ``None`` in a domain without variants."""

    skill: str
    document: Document | None
    task: Task | None = None


def skeleton_grammar(domain: Domain) -> str:
    """The Lark grammar of what may follow a skeleton's head. Raises ``ConfigError`` for a domain without one."""
    return domain.briefing.text("skeleton.lark")


def design_messages(
    settings: DesignerSection, domain: Domain, brief: Brief, examples: Sequence[Example]
) -> tuple[list[Message], str]:
    """The designer's opening and the prefill of its reply.

    In skeleton mode examples stand as earlier exchanges without their documents, and the head of the program (imports,
    class line) is given; otherwise they stand in the prompt with their labels.
    """
    document, skill = brief.document, brief.skill
    if settings.skeleton:
        shown = [message for example in examples for message in _exchange(example, skill, domain)]
        given = document or Document("free", "any small idea of your own", {"title": skill})
        messages = [*skeleton_opening(domain), *shown, _skeleton_request(domain, given, brief)]
        return messages, skeleton_head(given.title, domain)
    shown_text = "\n\n".join(f"{_label(e, domain)}\n\n{FENCE}python\n{e.source.strip()}\n{FENCE}" for e in examples)
    places = {
        "skill": skill,
        "document": document.text if document else "(none: choose a topic of your own)",
        "examples": f"# Examples\n\n{shown_text}\n" if shown_text else "",
        "levels": f"\n{levels_prompt(domain)}" if settings.difficulty else "",
        "form": _form(settings, domain),
    }
    content = fill_prompt(domain, "designer", {**places, **(brief.task.places if brief.task else {})})
    system = load_prompt(domain, "designer_system").template
    return [Message(role="system", content=system), Message(role="user", content=content)], ""


def skeleton_opening(domain: Domain) -> list[Message]:
    """The system prompt of a small designer."""
    return [Message(role="system", content=load_prompt(domain, "designer_skeleton_system").template)]


def _form(settings: DesignerSection, domain: Domain) -> str:
    """What a domain that knows ``designer.form`` says of it; empty in the others."""
    name = f"designer_{settings.form}"
    return load_prompt(domain, name).template if domain.briefing.has(f"{name}.md") else ""


def _skeleton_request(domain: Domain, document: Document, brief: Brief) -> Message:
    """What a small designer is asked for one document."""
    variant = brief.task.variant if brief.task else ""
    places = {"title": document.title, "document": document.text, "skill": brief.skill, "variant": variant}
    return Message(role="user", content=fill_prompt(domain, "designer_skeleton", places))


def skeleton_head(title: str, domain: Domain) -> str:
    """The given head of a program: fence, imports and a class line named for the document."""
    return fill_prompt(domain, "head", {"name": class_name(title)}) + "\n"


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


def _label(example: Example, domain: Domain) -> str:
    return _LABELS[example.label].format(kind=domain.briefing.noun)


def _exchange(example: Example, skill: str, domain: Domain) -> list[Message]:
    request = f"{_label(example, domain)}\nSkill: {skill}\nWrite the environment."
    program = f"{FENCE}python\n{example.source.strip()}\n{FENCE}"
    return [Message(role="user", content=request), Message(role="assistant", content=program)]


def skeleton_hint_request(domain: Domain) -> Message:
    """What a small designer is asked right after its program: the hint reuses what the model has just read."""
    return Message(role="user", content=load_prompt(domain, "hint_skeleton").template)


def hint_messages(settings: HintSection, domain: Domain, source: str, history: Sequence[Message] = ()) -> list[Message]:
    """What the model is asked for a hint: the program and the rules of method section 5.

    ``history`` is a small designer's conversation up to its request; the program then stands as its reply.
    """
    if history:
        program = Message(role="assistant", content=f"{FENCE}python\n{source.strip()}\n{FENCE}")
        return [*history, program, skeleton_hint_request(domain)]
    request = fill_prompt(domain, "hint", {"source": source.strip(), "max_words": settings.max_words})
    return [Message(role="user", content=request)]


def model_check_messages(domain: Domain, source: str) -> list[Message]:
    """What the model is asked about the criteria of a program (method section 4, stage 7)."""
    request = fill_prompt(domain, "model_check", {"source": source.strip()})
    return [Message(role="user", content=request)]


def agent_opening(settings: PlaySection, domain: Domain) -> tuple[Message, ...]:
    """The agent's system prompt and few-shot exchanges; it never changes within a run."""
    system = settings.system or load_prompt(domain, "agent_system").template
    shots = [
        message
        for shot in settings.few_shots
        for message in (
            Message(role="user", content=shot.observation),
            Message(role="assistant", content=shot.reply),
        )
    ]
    return (Message(role="system", content=system), *shots)
