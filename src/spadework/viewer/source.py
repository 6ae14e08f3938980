"""Source text as coloured pieces; the page makes text nodes of them, never markup."""

from __future__ import annotations

from pygments.lexers import PythonLexer
from pygments.token import STANDARD_TYPES

LONGEST = 200_000
"""Characters above which a source stays plain: nobody reads it for its colours."""


def pieces(source: str) -> list[tuple[str, str]]:
    """(short name of the kind of token, text) in order; joined, the texts are the source again."""
    if len(source) > LONGEST:
        return [("", source)]
    merged: list[tuple[str, str]] = []
    for _, kind, text in PythonLexer().get_tokens_unprocessed(source):  # which leaves carriage returns as they are
        name = STANDARD_TYPES.get(kind, "")
        if merged and merged[-1][0] == name:
            merged[-1] = name, merged[-1][1] + text
        else:
            merged.append((name, text))
    return merged
