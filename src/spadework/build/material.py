"""What a run starts from: documents, bundled examples and families of lessons."""

from __future__ import annotations

from pathlib import Path

from spadework.config import RunConfig
from spadework.corpus.documents import Corpus
from spadework.envs.registry import find_domain
from spadework.errors import ConfigError
from spadework.lessons.words import WordFamily, WordLessons, load_families
from spadework.resources import cache_dir, shipped
from spadework.selfplay.design.examples import ExampleEnvironment, load_examples

LESSONS = "lessons"
"""Begins the name of a model that a Tinker server samples and trains."""


def build_corpus(config: RunConfig) -> Corpus | None:
    """The grounding documents; ``None`` when there are none."""
    if config.corpus.path is None or not config.corpus.enabled:
        return None
    bundled = {"examples": "corpus.jsonl", "scale": "scale.jsonl"}.get(config.corpus.path)
    path = shipped("examples") / bundled if bundled else Path(config.corpus.path)
    return Corpus(path, cache_dir() / "corpus", config.corpus.max_words)


def bundled_examples(config: RunConfig) -> tuple[ExampleEnvironment, ...]:
    """The examples of the config's domain, or those of its families of lessons."""
    if config.lessons.families is not None:
        return build_lessons(config).examples()
    return load_examples(find_domain(config.domain))


def build_lessons(config: RunConfig) -> WordLessons:
    """The families of ``lessons.families`` over the documents of the corpus. Raises ``ConfigError``."""
    corpus = build_corpus(config)
    documents = [corpus[place] for place in range(len(corpus))] if corpus is not None else []
    return WordLessons(lesson_families(config), documents)


def lesson_families(config: RunConfig) -> tuple[WordFamily, ...]:
    """The families of ``lessons.families``. Raises ``ConfigError``."""
    named = config.lessons.families
    if named is None:
        raise ConfigError(f"eval.pool = {LESSONS!r} needs lessons.families")
    return load_families() if named == "words" else load_families(Path(named))
