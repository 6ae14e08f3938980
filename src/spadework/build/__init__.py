"""From a config to living objects: the only folder that names concrete backends."""

from spadework.build.engine import ENDPOINT, TINKER, Engine, build_endpoint, build_engine, build_human, check_trains
from spadework.build.material import LESSONS, build_corpus, build_lessons, bundled_examples, lesson_families
from spadework.build.reporting import build_evaluator, build_rules, build_sinks
from spadework.build.sandbox import build_limits, build_sandbox, check_sandbox
from spadework.build.stages import build_play, build_stages, check_parts
from spadework.build.warm_engine import Note, build_author, build_policy, build_warm_engine

__all__ = [
    "ENDPOINT",
    "LESSONS",
    "TINKER",
    "Engine",
    "Note",
    "build_author",
    "build_corpus",
    "build_endpoint",
    "build_engine",
    "build_evaluator",
    "build_human",
    "build_lessons",
    "build_limits",
    "build_play",
    "build_policy",
    "build_rules",
    "build_sandbox",
    "build_sinks",
    "build_stages",
    "build_warm_engine",
    "bundled_examples",
    "check_parts",
    "check_sandbox",
    "check_trains",
    "lesson_families",
]
