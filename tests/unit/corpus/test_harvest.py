"""Documents from what is installed."""

import itertools

import pytest
from tests.runs import cli

from spadework.corpus import harvest
from spadework.errors import ConfigError


def test_docstrings_of_the_standard_library_and_of_packages():
    documents = list(itertools.islice(harvest.standard_library(), 50))
    assert len(documents) == 50
    assert {d.meta["licence"] for d in documents} == {"PSF-2.0"}
    assert all(len(d.text.split()) >= harvest.MIN_WORDS for d in documents)
    numpy = next(harvest.package("numpy"))
    assert numpy.meta["source"] == "numpy"
    assert "BSD" in numpy.meta["licence"]
    with pytest.raises(ConfigError, match="nobody"):
        next(harvest.package("nobody"))


def test_texts_are_cut_at_headings_and_nothing_is_lost_between_them():
    section = "# Title {n}\n" + "word " * 130
    parts = harvest.split_text("\n".join(section.format(n=n) for n in range(5)))
    assert [part.splitlines()[0] for part in parts] == [f"# Title {n}" for n in range(5)]
    assert [len(part.split()) for part in harvest.split_text("w " * 2500)] == [1000, 1000, 500]


def test_the_command_writes_a_corpus_that_can_be_read(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Tides\n" + "The moon pulls the sea. " * 30)
    (tmp_path / "notes" / "b.txt").write_text("too short")
    done = cli("corpus", "build", "--path", tmp_path / "notes", "--licence", "CC0-1.0", "--out", tmp_path / "c.jsonl")
    assert done.returncode == 0, done.stderr
    assert "1  documents" in done.stdout
    shown = cli("corpus", "show", tmp_path / "c.jsonl")
    assert "1 documents, 0 broken" in shown.stdout
    assert cli("corpus", "build", "--out", tmp_path / "d.jsonl").returncode == 2
