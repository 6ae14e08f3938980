"""Lessons as rows: what is taught, and that it is said in the very prompts of a run."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.lessons.designs import draw_design
from spadework.lessons.documents import documents, write_corpus
from spadework.lessons.families import FAMILIES
from spadework.lessons.plays import TaughtPlay, draw_play
from spadework.lessons.pools import hand_set_pool
from spadework.resources import shipped

architecture = pytest.importorskip("spadework.scale_model.architecture")


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_config("scale")


def test_work_follows_the_own_hint_and_ends_in_the_answer() -> None:
    rng = random.Random(0)
    plays = [draw_play(rng) for _ in range(2000)]
    for play in plays:
        for exchange in play.exchanges:
            work, _, answer = exchange.reply.partition("\\boxed{")
            assert answer.endswith("}")
            assert not work or work.strip().endswith(answer[:-1])
    own = {family.name: family.hint for family in FAMILIES}

    def worked(play: TaughtPlay) -> bool:
        return not play.exchanges[0].reply.startswith("\\boxed")

    helped = [p for p in plays if p.hint and p.hint == own[p.exchanges[0].observation.split()[1]]]
    assert all(map(worked, helped))
    assert len(helped) < sum(bool(p.hint) for p in plays)
    alone = [p for p in plays if not p.hint and len(p.exchanges[0].observation.partition(": ")[2]) > 4]
    assert 0.05 < sum(map(worked, alone)) / len(alone) < 0.25


def test_wrong_answers_are_shown_and_not_taught() -> None:
    rng = random.Random(1)
    retried = [p for p in (draw_play(rng) for _ in range(500)) if not all(e.taught for e in p.exchanges)]
    assert retried
    for play in retried:
        wrong, right = play.exchanges[:2]
        assert (wrong.taught, right.taught, right.observation) == (False, True, "no")


def test_the_start_designer_is_aimed_badly() -> None:
    rng = random.Random(2)
    sources = [draw_design(rng).source for _ in range(600)]
    lengths = [int(re.findall(r"in range\((\d+)\)", source)[0]) for source in sources]
    hidden = [re.search(r'f"\w+ \w+ \{', source) is None for source in sources]
    assert 0.15 < sum(hidden) / 600 < 0.35
    assert sum(n <= 2 for n in lengths) > 150
    assert sum(n >= 12 for n in lengths) > 60
    for source in sources[:50]:
        compile(source, "design", "exec")


def test_rows_begin_as_a_run_does_and_teach_the_replies(config: RunConfig) -> None:
    rows = pytest.importorskip("spadework.lessons.rows")
    template = pytest.importorskip("spadework.policies.template")
    tokenizer = architecture.build_tokenizer(rows.lesson_texts(config, 0, 60))
    lessons = rows.Lessons(config, template.HFTemplate(tokenizer), 3)
    play, design = lessons.play(), lessons.design()
    opening = [{"role": "system", "content": "Play."}]
    start = tokenizer.apply_chat_template(opening, tokenize=False)
    assert tokenizer.decode(play.tokens).startswith(start)
    taught = tokenizer.decode([t for t, own in zip(play.tokens, play.taught, strict=True) if own])
    assert re.fullmatch(r"([^<]*\\boxed\{\w+\}<\|end\|>)+", taught)
    taught = tokenizer.decode([t for t, own in zip(design.tokens, design.taught, strict=True) if own])
    program, hint = taught.removesuffix("<|end|>").split("\n```<|end|>")
    assert program.startswith("    def reset")
    assert hint in {family.hint for family in FAMILIES}


def test_the_shipped_corpus_is_the_rules_own(tmp_path: Path) -> None:
    write_corpus(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (shipped("examples") / "scale.jsonl").read_text()
    titles = [json.loads(line)["title"] for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert len(titles) == len(list(documents())) > 250


def test_a_hand_set_pool_has_every_family_and_length() -> None:
    pool = hand_set_pool((2, 5), each=2, seed=1)
    assert len(pool) == len({environment.id for environment in pool}) > 40
    assert len({environment.hint for environment in pool}) == len(FAMILIES)
