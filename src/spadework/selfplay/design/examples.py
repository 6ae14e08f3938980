"""The bundled example environments: programs with their document, hint, skill and level.

A small model is warmed up on them, and they are the first contents of its pool and memory.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from spadework.envs.domain import Domain, Task
from spadework.errors import ConfigError
from spadework.text import decode
from spadework.types import Document, Environment


@dataclass(frozen=True, slots=True)
class ExampleEnvironment:
    """One bundled example."""

    name: str
    level: str
    document: Document
    environment: Environment
    task: Task | None = None
    """Variant and service of a tool-use example; ``None`` in a domain without variants."""


def environment_id(source: str) -> str:
    """The id of an environment: the first 12 hex digits of its program's SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def load_examples(domain: Domain) -> tuple[ExampleEnvironment, ...]:
    """Load all pairs of ``NAME.py`` and ``NAME.toml`` of a domain. Raises ``ConfigError`` that names file and key."""
    folder = domain.briefing.examples
    return tuple(_load(path, domain) for path in sorted(folder.glob("*.py"))) if folder else ()


def _load(path: Path, domain: Domain) -> ExampleEnvironment:
    described = path.with_suffix(".toml")
    try:
        data = tomllib.loads(decode(described.read_bytes()))
        title, text, hint, skill = (str(data[key]) for key in ("title", "document", "hint", "skill"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: {described.name} is missing; it holds title, skill, level, document, hint"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{described}: not valid TOML: {error}") from None
    except KeyError as error:
        raise ConfigError(f"{described}: the key {error.args[0]} is missing") from None
    source = decode(path.read_bytes())
    document = Document(f"examples/{path.stem}", text.strip(), {"title": title})
    environment = Environment(
        id=environment_id(source),
        source=source,
        hint=hint.strip(),
        skill=skill,
        domain=domain.name,
        document_id=document.id,
        cycle=0,
        designer_version=0,
    )
    try:
        task = domain.briefing.example_task(str(data.get("variant", "")), title)
    except ValueError as error:
        raise ConfigError(f"{described}: variant: {error}") from None
    return ExampleEnvironment(path.stem, str(data.get("level", "")), document, environment, task)
