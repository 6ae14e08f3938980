"""The families: their programs and the rules that teach them agree, and every program is a sound environment."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from spadework.domains.games import GAMES
from spadework.envs.check.findings import fatal
from spadework.envs.check.program import check_program
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.lessons.families import FAMILIES, SKILLS, Family, family_of
from spadework.lessons.plays import tell
from spadework.lessons.programs import Flaw, Knobs, write_program

KNOBS = (Knobs(1), Knobs(4, steps=3, tries=2, top=5), Knobs(16, tries=3, top=7), Knobs(3, shown=False))
families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def make(family: Family, knobs: Knobs) -> Any:
    names: dict[str, Any] = {}
    exec(write_program(family, knobs, "Turning beads", "beads"), names)
    return names["TurningBeadsEnv"]()


@families
@pytest.mark.parametrize("knobs", KNOBS, ids=str)
def test_the_program_and_the_rules_tell_the_same_story(family: Family, knobs: Knobs) -> None:
    environment = make(family, knobs)
    for seed in range(20):
        said = environment.reset(seed)
        machine = family.begin(random.Random(seed), knobs.top)
        start = f" {machine.shown}" if knobs.shown else ""
        expected, paid, done = f"beads {family.name}{start}: ", 0.0, False
        for _ in range(knobs.steps if family.multi_turn else 1):
            assert not done
            run = list(machine.run(knobs.length))
            assert said == expected + tell(run)
            assert environment.solution() == machine.shown
            said, paid, done, _, _ = environment.step(f"\\boxed{{{machine.shown}}}")
            expected = ""
        assert (paid, done) == (1.0, True)


@families
def test_the_answer_is_one_of_a_hundred(family: Family) -> None:
    environment = make(family, Knobs(3))
    ends = []
    for seed in range(600):
        environment.reset(seed)
        ends.append(environment.solution())
    assert len(set(ends)) >= 90
    assert Counter(ends).most_common(1)[0][1] / len(ends) < 0.05


@families
def test_wrong_answers_use_up_the_tries(family: Family) -> None:
    environment = make(family, Knobs(2, tries=2))
    environment.reset(1)
    assert environment.step("")[1:3] == (0.0, False)
    assert environment.step("\\boxed{no}")[1:3] == (0.0, True)


async def test_every_program_passes_the_checker_with_its_hint() -> None:
    settings = RuntimeChecks(seeds=6)
    async with ForkServer() as sandbox:
        for family in FAMILIES:
            for knobs in (Knobs(1), Knobs(5, steps=2, tries=2)):
                source = write_program(family, knobs, "Turning beads", "beads")
                checked = await check_program(sandbox, source, settings, GAMES, family.hint)
                assert not fatal(checked.findings), (family.name, checked.findings)
                assert 10 <= len(source.splitlines()) <= 40


async def test_taught_flaws_are_found() -> None:
    settings = RuntimeChecks(seeds=6, grading=False)
    async with ForkServer() as sandbox:
        for family in (family_of(SKILLS[0], "turn"), family_of(SKILLS[2], "carry")):
            flaws: tuple[Flaw, ...] = ("frozen",) if family.multi_turn else ("frozen", "told")
            for flaw in flaws:
                source = write_program(family, Knobs(3, flaw=flaw), "Turning beads", "beads")
                checked = await check_program(sandbox, source, settings, GAMES)
                codes = {finding.code for finding in fatal(checked.findings)}
                assert ("ENV501" if flaw == "told" else "ENV302") in codes


def test_the_families_span_skills_manners_and_turns() -> None:
    assert {family_of(skill, manner) for skill in SKILLS for manner in ("turn", "trade", "carry")} == set(FAMILIES)
    assert {family.multi_turn for family in FAMILIES} == {True, False}
    assert len({family.hint for family in FAMILIES}) == len(FAMILIES) >= 12


def test_knobs_stand_in_the_text() -> None:
    source = write_program(family_of(SKILLS[0], "carry"), Knobs(7, steps=3, tries=2, top=6), "Carrying beads", "beads")
    for piece in (
        "range(7)",
        "self.at, self.left, self.tries = (p, q), 3, 2",
        "r.randint(0, 6)",
        "class CarryingBeadsEnv",
    ):
        assert piece in source
