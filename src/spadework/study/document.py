"""A document of headings, paragraphs, tables and figures, which templates turn into Markdown and into one HTML file.

The templates lie beside this file, in ``templates``. Needs jinja2 (extra ``study``).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from spadework.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; level 1 is the document's."""

    kind: ClassVar[str] = "heading"
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; words between backticks are code."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text. The first column is set left; ``right`` sets the others right."""

    kind: ClassVar[str] = "table"
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: bool = True


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that lies beside the document as ``STEM.png`` and ``STEM.svg``."""

    kind: ClassVar[str] = "picture"
    stem: str
    caption: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that are shown as they are."""

    kind: ClassVar[str] = "code"
    text: str


Block = Heading | Text | Table | Picture | Code


def to_markdown(blocks: Sequence[Block]) -> str:
    """The document as Markdown, with pictures by their PNG. Raises ``ConfigError`` without jinja2."""
    templates = load_templates()
    return templates.get_template("report.md.j2").render(blocks=blocks)


def to_html(blocks: Sequence[Block], folder: Path) -> str:
    """The document as one file that needs no other, with pictures by their SVG, which it reads from ``folder``.

    Raises ``ConfigError`` without jinja2.
    """
    templates = load_templates()
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")

    def svg_address(stem: str) -> str:
        data = base64.b64encode((folder / f"{stem}.svg").read_bytes()).decode()
        return f"data:image/svg+xml;base64,{data}"

    templates.filters["svg_address"] = svg_address
    return templates.get_template("report.html.j2").render(blocks=blocks, title=title)


def load_templates() -> Environment:
    """The templates with their filters. Raises ``ConfigError`` without jinja2."""
    try:
        from jinja2 import Environment, FileSystemLoader
    except ImportError:
        raise ConfigError("a study's report needs jinja2: pip install 'spadework[study]'") from None
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"cell": _markdown_cell, "inline": _code_between_backticks}
    return templates


def _markdown_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code_between_backticks(text: str) -> Markup:
    """The text with HTML's own characters escaped, and words between backticks as ``<code>``."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))
