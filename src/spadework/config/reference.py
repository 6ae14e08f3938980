"""The reference of all settings as a page, made from the sections themselves: ``docs/settings.md``."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from spadework.config import RunConfig
from spadework.config.descriptions import section_of
from spadework.config.toml import toml_value

_HEAD = """\
# Settings

Every setting of a config file, with its type, its default and what it means. Where a setting says nothing else, its
default is that of the paper's games run (Table 5 and sections 3 to 5). `spadework configs show NAME --explain` prints a
config with these texts; `--set section.key=value` changes a single setting of any command that takes a config.

This page is made from the program: `make docs` writes it anew.
"""


def settings_page() -> str:
    """The page as Markdown: one table a section."""
    return "\n".join([_HEAD, *_tables(RunConfig, "")]).rstrip() + "\n"


def _tables(section: type[BaseModel], path: str) -> Iterator[str]:
    """The table of a section's own settings, then those of the sections inside it."""
    own = {name: field for name, field in section.model_fields.items() if section_of(field.annotation) is None}
    if own:
        yield f"## {f'`[{path}]`' if path else 'Above all sections'}\n"
        yield f"{_line(section.__doc__ or '')}\n"
        yield "| setting | type | default | meaning |\n|---|---|---|---|"
        for name, field in own.items():
            yield f"| `{name}` | {_type(field)} | {_default(field)} | {_line(field.description or '')} |"
        yield ""
    for name, field in section.model_fields.items():
        inner = section_of(field.annotation)
        if inner is not None:
            yield from _tables(inner, f"{path}.{name}" if path else name)


def _type(field: FieldInfo) -> str:
    kind = field.annotation
    name = kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)
    name = re.sub(r"^Union\[(.*), NoneType\]$", r"\1 | None", re.sub(r"typing\.", "", name))
    name = re.sub(r"Annotated\[int, FieldInfo\(.*?\)\]\)\]", "int", name)  # the bounds of one member of a union
    name = re.sub(r"\b(?:typing|collections\.abc|spadework\.[\w.]+)\.(?=\w)", "", name)
    bounds = [str(bound) for bound in field.metadata if type(bound).__name__ in ("Ge", "Gt", "Le", "Lt")]
    return _cell(f"`{name}`") + "".join(f", {_bound(bound)}" for bound in bounds)


def _bound(text: str) -> str:
    """``Ge(ge=1)`` as ``≥ 1``."""
    name, _, value = text.partition("(")[2].removesuffix(")").partition("=")
    return f"{ {'ge': '≥', 'gt': '>', 'le': '≤', 'lt': '<'}[name] } {value}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "unset"
    return _cell(f"`{toml_value(value)}`") if not isinstance(value, BaseModel) else "a table"


def _line(text: str) -> str:
    return _cell(" ".join(text.replace("``", "`").split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(settings_page(), "utf-8")
