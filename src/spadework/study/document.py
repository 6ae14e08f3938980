"""A small document of headings, paragraphs, tables and figures, as Markdown and as one HTML file."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; level 1 is the document's."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; words between backticks are code."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text; the first column is set left, the others as ``right`` says."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: bool = True


@dataclass(frozen=True, slots=True)
class Picture:
    """``STEM.png`` and ``STEM.svg`` beside the document."""

    stem: str
    caption: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines as they are."""

    text: str


Block = Heading | Text | Table | Picture | Code

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; font-size: .92em; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #eee; vertical-align: top; text-align: left; }
.right th + th, .right td + td { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; } figcaption { color: #555; font-size: .9em; } figure { margin: 1rem 0; }
code, pre { background: #f5f5f5; font-size: .9em; } pre { padding: .7rem; overflow-x: auto; }
"""


def to_markdown(blocks: Sequence[Block]) -> str:
    """The document as Markdown; pictures by their PNG."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def to_html(blocks: Sequence[Block], folder: Path) -> str:
    """The document as one file that needs no other; pictures by their SVG in ``folder``."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    body = "\n".join(_html(block, folder) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Code(text):
            return f"```\n{text}\n```"
        case Picture(stem, caption):
            return f"![{caption}]({stem}.png)\n\n{caption}"
        case Table(head, rows, right):
            marks = ("---", *(["---:" if right else "---"] * (len(head) - 1)))
            lines = [head, marks, *rows]
            return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Code(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Picture(stem, caption):
            data = base64.b64encode((folder / f"{stem}.svg").read_bytes()).decode()
            image = f'<img alt="{html.escape(caption)}" src="data:image/svg+xml;base64,{data}">'
            return f"<figure>{image}<figcaption>{_inline(caption)}</figcaption></figure>"
        case Table(head, rows, right):
            top = "".join(f"<th>{_inline(cell)}</th>" for cell in head)
            lines = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
            return f"<table{' class=right' if right else ''}>\n<tr>{top}</tr>\n{lines}</table>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))
