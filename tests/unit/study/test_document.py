"""The report's blocks as Markdown and HTML."""

import sys

import pytest

from spadework.errors import ConfigError
from spadework.study.document import Code, Heading, Picture, Table, Text, to_html, to_markdown

BLOCKS = [
    Heading("A < B", 1),
    Text("a `x|y` b"),
    Table(("arm", "n"), (("p|q", "1"),)),
    Code("k = <1>"),
    Picture("fig", "curves"),
]


def test_markdown():
    text = to_markdown(BLOCKS)
    assert text.startswith("# A < B\n\na `x|y` b\n\n| arm | n |\n| --- | ---: |\n| p\\|q | 1 |\n\n```\nk = <1>\n```")
    assert "![curves](fig.png)" in text


def test_markdown_of_several_rows_has_no_gaps():
    rows = Table(("a", "b", "c"), (("1", "2", "3"), ("4", "5", "6")), right=False)
    assert (
        to_markdown([rows, Text("end")]) == "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n\nend\n"
    )


def test_without_jinja2_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigError, match=r"pip install 'spadework\[study\]'"):
        to_markdown(BLOCKS)


def test_html_needs_no_other_file(tmp_path):
    (tmp_path / "fig.svg").write_text("<svg/>")
    text = to_html(BLOCKS, tmp_path)
    assert "<h1>A &lt; B</h1>" in text
    assert "<code>x|y</code>" in text
    assert "k = &lt;1&gt;" in text
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in text
    assert "http" not in text
