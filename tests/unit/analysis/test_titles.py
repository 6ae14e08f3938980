"""A program's title is the class that plays and the first line of its docstring."""

from __future__ import annotations

import pytest

from spadework.analysis.titles import ProgramTitle, program_title

BODY = "    def step(self, action):\n        return '', 0.0, True, False, {}\n"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        (f'class Sums(Env):\n    """Add two numbers.\n\n    More."""\n{BODY}', ("Sums", "Add two numbers.")),
        (f"class Sums:\n    r'''One line.'''\n{BODY}", ("Sums", "One line.")),
        (f'class Sums:  # a game\n    """\n    Below.\n    """\n{BODY}', ("Sums", "Below.")),
        (f"class Sums:\n    x = 1\n{BODY}", ("Sums", "")),
        (f'class Play:\n    """It plays."""\n{BODY}\nclass Helper:\n    pass\n', ("Play", "It plays.")),
        ("class Broken(:\n    ???", ("Broken", "")),
        ("x = 1", ("", "")),
        ("class " * 100_000, ("", "")),
    ],
)
def test_titles(source: str, title: tuple[str, str]) -> None:
    assert program_title(source) == ProgramTitle(*title)
