from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spadework.viewer.source import LONGEST, pieces


@settings(deadline=None)  # the first text waits for the lexer to be built
@given(st.text())
def test_the_pieces_are_the_source(text: str) -> None:
    assert "".join(piece for _, piece in pieces(text)) == text


def test_python_is_told_apart() -> None:
    kinds = {text: kind for kind, text in pieces("def f():\n    return 1  # one\n")}
    assert (kinds["def"], kinds["f"], kinds["# one"]) == ("k", "nf", "c1")


def test_a_huge_source_stays_plain() -> None:
    text = "x = 1\n" * LONGEST
    assert pieces(text) == [("", text)]
