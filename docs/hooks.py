"""Hooks of the site: links to files outside ``docs`` lead nowhere there, so they stay as the text that they are."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")
_STUDIES = re.compile(r"\[([^\]]+)\]\(studies/[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links to the repository's other files by their text."""
    return _STUDIES.sub(r"\1", _OUTSIDE.sub(r"\1", markdown))
