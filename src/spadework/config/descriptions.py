"""What each setting means, as the docstring of its field says."""

from __future__ import annotations

import typing

from pydantic import BaseModel

from spadework.config import RunConfig


def descriptions(section: type[BaseModel] = RunConfig, prefix: str = "") -> dict[str, str]:
    """``section`` and ``section.key`` -> docstring; a setting without one has an empty text."""
    found: dict[str, str] = {}
    for name, field in section.model_fields.items():
        inner = section_of(field.annotation)
        if inner is None:
            found[f"{prefix}{name}"] = field.description or ""
        else:
            found[f"{prefix}{name}"] = field.description or inner.__doc__ or ""
            found |= descriptions(inner, f"{prefix}{name}.")
    return found


def section_of(annotation: object) -> type[BaseModel] | None:
    """The section that a field holds, also where it may be ``None``."""
    for choice in (annotation, *typing.get_args(annotation)):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice
    return None
