"""Word games: the lessons say what the programs say, hints carry information, and what is held out was never taught."""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from spadework import build
from spadework.config.files import load_config
from spadework.domains.games_demo import demo_script
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.errors import ConfigError
from spadework.lessons.held_out import OTHER, TAUGHT, WORDS, held_out_games, lent_hints
from spadework.lessons.warmup import lesson_rows
from spadework.lessons.words import PLACEBO, UNASKED, WordLessons, load_families, words_of, write_program
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Document

FAMILIES = load_families()
SETTINGS = ("lessons.families=words", "corpus.path=examples", "corpus.max_words=40", "lessons.plays=30")


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[ForkServer]:
    async with ForkServer() as box:
        yield box


@pytest.fixture(scope="module")
def lessons() -> WordLessons:
    return build.build_lessons(load_config("scripted", SETTINGS))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
async def test_a_lesson_shows_and_answers_what_the_program_would(family: object, sandbox: ForkServer) -> None:
    rng = random.Random(1)
    for steps in (1, 2, 4, 7):
        sizes, words = family.sizes(rng, steps), rng.sample(WORDS, 9)  # type: ignore[attr-defined]
        source = write_program(family, words, sizes, "A game")  # type: ignore[arg-type]
        session = await sandbox.open(source, Limits())
        for seed in range(5):
            game = family.play(words, sizes, seed)  # type: ignore[attr-defined]
            assert (await session.reset(seed)).observation == game.opening
            assert (await session.step(f"\\boxed{{{game.answer}}}")).reward == 1.0
            assert game.work and game.reply(True).endswith(game.reply(False))
        await session.close()


def test_without_the_hint_most_games_are_answered_at_once_and_with_it_worked_out(lessons: WordLessons) -> None:
    rng = random.Random(0)
    pairs = [lessons.draw_plays(rng) for _ in range(600)]
    worked = [[" " in play.exchanges[0].reply for play in pair] for pair in pairs]
    assert all(pair[0].exchanges[0].observation == pair[1].exchanges[0].observation for pair in pairs)
    assert all(not pair[0].hint and pair[1].hint for pair in pairs)
    assert abs(sum(bare for bare, _ in worked) / 600 - UNASKED) < 0.06
    assert abs(sum(not hinted for _, hinted in worked) / 600 - PLACEBO) < 0.05


def test_designs_are_of_the_skill_that_was_asked_and_some_are_hopeless(lessons: WordLessons) -> None:
    rng = random.Random(0)
    designs = [lessons.draw_design(rng, ["Optimization", "Causal Inference"]) for _ in range(200)]
    assert {design.skill for design in designs} == {"Optimization", "Causal Inference"}
    assert all(design.example is None or design.example.label == "good" for design in designs)
    blind = [design for design in designs if "after it?" in design.source or "{x} {n}" not in design.source]
    assert 10 < len([design for design in blind if design.skill == "Causal Inference"]) + len(blind) < 300


def test_rows_stand_in_pairs_and_teach_only_what_the_model_says() -> None:
    config = load_config("scripted", [*SETTINGS, "lessons.designs=10", "designer.skeleton=true"])
    rows = lesson_rows(ScriptedPolicy(demo_script), config, build.build_lessons(config))
    plays = [row for row in rows if row.role == "agent"]
    designs = [row for row in rows if row.role == "designer"]
    assert (len(plays), len(designs)) == (60, 10)
    assert [row.source_id for row in plays[:4]] == ["play/0", "play/0", "play/1", "play/1"]
    assert all(abs(sum(row.advantages) - 1) < 1e-9 and 0 < sum(row.loss_mask) < len(row.tokens) for row in rows)


def test_what_is_held_out_was_never_taught(lessons: WordLessons) -> None:
    corpus = [json.loads(line) for line in Path("examples/corpus.jsonl").read_text("utf-8").split("\n") if line]
    taught = {word for row in corpus for word in words_of(row["text"])}
    assert not taught & set(WORDS)
    games = held_out_games(FAMILIES)
    names = {family.name for family in FAMILIES if family.taught}
    groups = {game.document_id.removeprefix("held-out/").rpartition("-")[0]: group for game, group in games}
    assert {name for name, group in groups.items() if group == TAUGHT} == names
    assert {group for name, group in groups.items() if name not in names} == {OTHER}
    assert held_out_games(FAMILIES) == games
    lent = lent_hints(games, FAMILIES)
    assert all(lent[game.id] != game.hint for game, _ in games)


def test_a_file_of_ones_own_is_read_and_what_is_wrong_with_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (Path(load_families.__code__.co_filename).parent / "word_games.toml").read_text("utf-8")
    file.write_text(text, "utf-8")
    assert load_families(file) == FAMILIES
    file.write_text(re.sub(r"^hint = .*\n", "", text, count=1, flags=re.MULTILINE), "utf-8")
    with pytest.raises(ConfigError, match=r"mine.toml: family.0.hint: Field required"):
        load_families(file)
    with pytest.raises(ConfigError, match=r"nowhere.toml"):
        load_families(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match=r"no document of the corpus has 9 plain words"):
        WordLessons(FAMILIES, [Document("d", "too few", {})])
