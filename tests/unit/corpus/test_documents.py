"""Reading documents: broken lines, either text key, cuts, and a file that changes."""

import json

import pytest

from spadework.corpus.documents import Corpus
from spadework.errors import ConfigError
from spadework.resources import shipped


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_documents_and_broken_lines(tmp_path):
    path = write(
        tmp_path / "c.jsonl",
        json.dumps({"id": "a", "text": "one two three", "title": "T"}),
        "{broken",
        "",
        json.dumps({"orig_doc": "four"}),
        json.dumps({"id": "c", "text": "  "}),
        json.dumps(["text"]),
    )
    corpus = Corpus(path, tmp_path / "cache", max_words=2)
    assert (len(corpus), corpus.broken) == (2, 3)
    assert corpus[0].text == "one two"
    assert corpus[0].title == "T"
    assert corpus[1].text == "four"
    assert {corpus.sample(seed).text for seed in range(50)} == {"one two", "four"}
    assert corpus.sample(3) == corpus.sample(3)


def test_the_index_is_kept_and_made_anew_when_the_file_changes(tmp_path):
    path = write(tmp_path / "c.jsonl", json.dumps({"text": "one"}))
    assert len(Corpus(path, tmp_path / "cache")) == 1
    assert len(list((tmp_path / "cache").glob("*.npy"))) == 1
    write(path, json.dumps({"text": "one"}), json.dumps({"text": "two"}))
    assert [Corpus(path, tmp_path / "cache")[i].text for i in range(2)] == ["one", "two"]
    assert not list((tmp_path / "cache").glob("*.raw"))


def test_nothing_to_read_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(ConfigError, match=r"corpus\.path.*missing\.jsonl"):
        Corpus(tmp_path / "missing.jsonl", tmp_path)
    with pytest.raises(ConfigError, match="2 broken lines"):
        Corpus(write(tmp_path / "c.jsonl", "a", "b"), tmp_path / "cache")


def test_the_bundled_corpus_is_whole(tmp_path):
    corpus = Corpus(shipped("examples") / "corpus.jsonl", tmp_path)
    documents = [corpus[i] for i in range(len(corpus))]
    assert len(documents) >= 200
    assert corpus.broken == 0
    assert len({d.id for d in documents}) == len({d.title for d in documents}) == len(documents)
    assert {d.meta["licence"] for d in documents} == {"CC0-1.0"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one\ntwo\n\nthree four", "one\ntwo\n\nthree"),
        ("一二三四五", "一二三"),
        ("one 二三 four", "one 二三"),
        ("ab" * 500, "ab" * 150),
        ("one  two", "one  two"),
    ],
)
def test_words_end_at_any_blank_and_at_characters_that_need_none(tmp_path, text, kept):
    path = write(tmp_path / "c.jsonl", json.dumps({"text": text}))
    assert Corpus(path, tmp_path / "cache", max_words=3)[0].text == kept


def test_a_line_ends_at_a_newline_only_and_its_text_is_clean(tmp_path):
    line = json.dumps({"text": "a\u2028b\x85c", "title": "\ud83d\0"}, ensure_ascii=False)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line.encode("utf-8", "replace").replace(b"\0", b"\\u0000") + b"\n\xff\n")
    corpus = Corpus(path, tmp_path / "cache")
    assert (len(corpus), corpus.broken) == (1, 1)
    assert (corpus[0].text, corpus[0].title) == ("a\u2028b\x85c", "?\ufffd")
