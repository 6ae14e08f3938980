"""The designer's stage over the scripted policy: retries, records, skills."""

from __future__ import annotations

from spadework.config import DesignerSection, MemorySection
from spadework.domains.games import GAMES
from spadework.errors import PolicyError, SandboxError
from spadework.selfplay.design.designer import Designer, DesignTools, active_skills, cut_to_tokens
from spadework.selfplay.design.prompts import class_name, split_program
from spadework.selfplay.design.validation import Verdict
from spadework.selfplay.records import Example, Hint
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Document


def test_the_window_of_skills_moves_on_by_its_width():
    settings = DesignerSection(skills=("a", "b", "c", "d"), active_skills=3, every=2)
    assert [active_skills(settings, cycle) for cycle in (0, 2, 4)] == [
        ("a", "b", "c"),
        ("d", "a", "b"),
        ("c", "d", "a"),
    ]


def designer(validate, hint=None, **settings):
    async def write_hint(policy, source, judged, key, history):
        text = "think" if hint is None else hint(source)
        return None if text is None else Hint(text)

    tools = DesignTools(
        document=lambda seed: Document(f"doc{seed % 1000}", "text", {"title": "Sums"}),
        examples=lambda skill, rng, fits: tuple(Example(s, s, "good") for s in ("short", "l" * 99) if fits(s)),
        validate=validate,
        hint=write_hint,
    )
    section = DesignerSection(attempts=3, max_tokens=999, **settings)
    return Designer(section, MemorySection(max_tokens=50), GAMES, 5, tools)


def writing(*programs):
    count = iter(range(99))
    return ScriptedPolicy(
        lambda messages, rng, version: f"```python\n{programs[min(next(count), len(programs) - 1)]}\n```"
    )


async def accept(source):
    return Verdict((), ran=True)


async def test_attempts_until_one_is_accepted_each_with_a_fresh_document():
    async def judge(source):
        return Verdict(() if source == "good\n" else ("ENV201 raised",), ran=source == "good\n")

    result = await designer(judge).fill_slot(writing("bad", "good"), 4, 1)
    assert [design.findings for design in result.designs] == [("ENV201 raised",), ()]
    assert [design.accepted for design in result.designs] == [False, True]
    assert result.designs[0].document_id != result.designs[1].document_id
    assert [design.id for design in result.designs] == ["4-1-0", "4-1-1"]
    environment = result.environment
    assert environment is not None
    assert (environment.source, environment.hint, environment.design_id) == ("good\n", "think", "4-1-1")
    assert environment.parents == ("short",)
    assert environment.skill == result.designs[1].skill
    assert result.designs[0].segments[0].sampled > 0


async def test_a_slot_gives_up_after_its_attempts():
    async def judge(source):
        return Verdict(("ENV001 syntax",))

    result = await designer(judge).fill_slot(writing("bad"), 0, 0)
    assert (len(result.designs), result.environment) == (3, None)


async def test_faults_are_typed_and_blame_nobody():
    async def judge(source):
        raise SandboxError("SBX001", "gone")

    result = await designer(judge).fill_slot(writing("good"), 0, 0)
    assert {design.fault.kind for design in result.designs} == {"sandbox"}
    assert all(design.findings == () and not design.accepted for design in result.designs)

    def fail(source):
        raise PolicyError("HTTP500", "no answer")

    result = await designer(accept, fail).fill_slot(writing("good"), 0, 0)
    assert {design.fault.kind for design in result.designs} == {"endpoint"}


async def test_an_environment_without_a_clean_hint_is_rejected():
    result = await designer(accept, lambda source: "").fill_slot(writing("good"), 0, 0)
    assert result.environment is not None  # an empty string is the writer's to refuse
    result = await designer(accept, lambda source: None).fill_slot(writing("good"), 0, 0)
    assert [design.findings[0][:4] for design in result.designs] == ["HINT"] * 3


def test_class_names_and_heads(game):
    assert class_name("Division with remainder") == "DivisionWithRemainderEnv"
    assert class_name("XOR of 2 bits") == "XOROfBitsEnv"
    head, body = split_program(game)
    assert head.endswith("class DivisionWithRemainderEnv:\n")
    assert head.removeprefix("```python\n") + body == game.rstrip() + "\n```"


def test_a_document_is_cut_to_whole_words_within_its_token_budget():
    document = Document("d", "one two three four", {})
    assert cut_to_tokens(document, 99, len) is document
    assert cut_to_tokens(document, len("one two three"), len).text == "one two three"
    assert cut_to_tokens(document, len("one two thre"), len).text == "one two"
    assert cut_to_tokens(document, 1, len).text == ""
