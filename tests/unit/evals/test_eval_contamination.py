"""Benchmark tasks in a corpus or a pool are found, and nothing else is."""

from __future__ import annotations

import argparse
import csv
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadework.cli.evals import contamination as eval_contamination
from spadework.errors import ConfigError
from spadework.evals.contamination import LONG, PHRASING, SHORT, Detector, words

TASK = "A train leaves the old station at nine and reaches the coast after three hours; how far is the coast from it?"


def text(seed: int, count: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(count))


def detector(*items: str) -> Detector:
    made = Detector()
    made.add_suite("suite", ((str(place), item) for place, item in enumerate(items)))
    return made


def test_a_task_is_found_whatever_its_case_line_breaks_and_punctuation() -> None:
    made = detector(TASK, text(1, 40))
    written = TASK.upper().replace(" ", "\n  ").replace(";", " --")
    hits = made.check("bad", f"{text(2, 500)}\n{written}\n{text(3, 500)}")
    assert [(hit.item, hit.length, hit.share) for hit in hits] == [("0", LONG, 1.0)]
    assert hits[0].phrase in " ".join(words(TASK))
    assert made.check("good", text(4, 2_000)) == []
    found = made.overlaps()[0]
    assert (found.items, found.short, dict(found.found), found.share) == (2, 0, {LONG: 1, SHORT: 1}, 0.5)


@pytest.mark.parametrize(("kept", "length"), [(7, None), (8, SHORT), (12, SHORT), (13, LONG)])
def test_runs_of_thirteen_and_of_eight_words_are_told_apart(kept: int, length: int | None) -> None:
    part = " ".join(words(TASK)[:kept])
    hits = detector(TASK).check("d", f"{text(5, 50)} {part} {text(6, 50)}")
    assert [hit.length for hit in hits] == ([length] if length else [])


def test_an_items_share_is_of_its_own_runs() -> None:
    tokens = words(TASK)
    hit = detector(TASK).check("d", " ".join(tokens[: SHORT + 1]))[0]
    assert hit.share == pytest.approx(2 / (len(tokens) - SHORT + 1))


def test_what_many_items_share_is_phrasing_and_short_items_are_counted() -> None:
    phrase = "read the following problem with care and answer it in one short line please"
    many = [f"{phrase} {text(seed, 20)}" for seed in range(PHRASING + 1)]
    made = detector(*many, "too short")
    assert made.check("d", phrase) == []
    assert made.check("e", many[3])[0].item == "3"
    assert made.overlaps()[0].short == 1
    assert [hit.length for hit in detector(*many[:PHRASING]).check("d", phrase)] == [LONG] * PHRASING


@given(st.text())
def test_an_item_of_eight_words_is_always_found_in_itself(noise: str) -> None:
    item = f"{noise} one two three four five six seven eight"
    assert detector(item).check("d", item)[0].share == 1


def gpqa(path: Path) -> Path:
    columns = ["Question", "Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3))]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for question in (TASK, text(9, 60)):
            writer.writerow(dict.fromkeys(columns, "some") | {"Question": question})
    return path


def run(*argv: object) -> int:
    parser = argparse.ArgumentParser()
    eval_contamination.add_arguments(parser)
    return eval_contamination.run(parser.parse_args([str(word) for word in argv]))


def test_the_command_names_document_task_and_words_and_fails(tmp_path: Path, capsys) -> None:
    corpus, pool = tmp_path / "corpus.jsonl", tmp_path / "pool"
    rows = [{"id": "clean", "text": text(1, 300)}, {"id": "dirty", "text": f"{text(2, 100)} {TASK}"}]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pool.mkdir()
    head = "class AEnv:\n    def reset(self, seed=None):\n        return 'x', {}\n\n    def step(self, action):\n"
    (pool / "copied.py").write_text(f'"""{TASK}"""\n\n\n{head}        return "", 0.0, True, False, {{}}\n')
    data = ("--suite", "gpqa", "--data", f"gpqa={gpqa(tmp_path / 'gpqa.csv')}")
    assert run(corpus, pool, *data, "--out", tmp_path / "hits.jsonl") == 1
    told = capsys.readouterr().out
    assert "corpus.jsonl:dirty: 13 words of gpqa 1 " in told and "pool:" in told and "clean" not in told
    assert "3 documents; over 0.0% of the items found: gpqa" in told
    hits = [json.loads(line) for line in (tmp_path / "hits.jsonl").read_text().splitlines()]
    assert len(hits) == 2 and hits[0]["phrase"] in " ".join(words(TASK))
    assert run(corpus, *data, "--max-share", 0.5) == 0
    corpus.write_text(json.dumps(rows[0]) + "\n")
    assert run(corpus, *data) == 0
    assert "no suite over the threshold" in capsys.readouterr().out


def test_suites_without_data_are_told_and_one_that_was_asked_for_is_an_error(tmp_path: Path, capsys) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"text": text(1, 50)}) + "\n")
    with pytest.raises(ConfigError, match="data-help gpqa"):
        run(corpus, "--suite", "gpqa")
    with pytest.raises(ConfigError, match="SUITE=PATH"):
        run(corpus, "--data", "gpqa.csv")
