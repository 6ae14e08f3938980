"""The model check: what is a verdict, what rejects, and that it never fails open."""

from __future__ import annotations

import pytest

from spadework.config import DesignerSection, MemorySection, ValidationSection
from spadework.domains.tool_use import TOOL_USE
from spadework.errors import GraderError
from spadework.selfplay.design.designer import Designer, DesignTools
from spadework.selfplay.design.model_check import ModelCheck, read_verdict
from spadework.selfplay.design.validation import Verdict
from spadework.testing.scripted import ScriptedPolicy


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Criteria: 2\n1: possible\n2: hard", ("possible", "hard")),
        ("1: impossible?\n**Criteria: 1**\n- Criterion 1: Impossible, no tool writes it", ("impossible",)),
        ("<think>Criteria: 1\n1: impossible</think>Criteria: 1\n1: possible", ("possible",)),
        ("", None),
        ("All of them can be met.", None),
        ("Criteria: 0", None),
        ("Criteria: 2\n1: possible", None),
        ("Criteria: 2\n1: possible\n1: impossible\n2: hard", None),
        ("Criteria: 1\n1: perhaps", None),
        ("<think>Criteria: 1\n1: possible", None),
    ],
)
def test_verdicts(reply, verdict):
    assert read_verdict(reply) == verdict


def saying(*replies):
    left = list(replies)
    return ScriptedPolicy(lambda messages, rng, version: left.pop(0))


async def test_hard_is_kept_and_impossible_rejected():
    check = ModelCheck(ValidationSection(), TOOL_USE)
    assert await check(saying("Criteria: 2\n1: hard\n2: possible"), "x", (0,)) == ()
    (why,) = await check(saying("Criteria: 2\n1: hard\n2: impossible"), "x", (0,))
    assert why == "MODEL criterion 2 cannot be met by any tool"


async def test_an_unreadable_verdict_is_asked_for_again_and_then_a_fault():
    check = ModelCheck(ValidationSection(model_check_attempts=3), TOOL_USE)
    assert await check(saying("", "Well.", "Criteria: 1\n1: possible"), "x", (0,)) == ()
    with pytest.raises(GraderError, match="3 tries"):
        await check(saying("", "Well.", "Criteria: 1"), "x", (0,))


async def test_a_verdict_that_was_cut_is_none():
    check = ModelCheck(ValidationSection(model_check_tokens=27, model_check_attempts=1), TOOL_USE)
    with pytest.raises(GraderError):
        await check(saying("Criteria: 1\n1: possible, but two is im..."), "x", (0,))


async def test_a_fault_of_the_grader_is_a_design_that_says_nothing():
    async def accept(source):
        return Verdict((), ran=True)

    async def hint(policy, source, judged, key, history):
        return "plan"

    def designer(check):
        tools = DesignTools(None, lambda skill, rng, fits: (), accept, hint, check)
        return Designer(DesignerSection(attempts=2, max_tokens=99), MemorySection(), TOOL_USE, 1, tools)

    async def fail(policy, source, key):
        raise GraderError("MODEL", "no verdict")

    async def reject(policy, source, key):
        return ("MODEL criterion 1 cannot be met by any tool",)

    writing = ScriptedPolicy(lambda messages, rng, version: "```python\nx = 1\n```")
    faulty = await designer(fail).fill_slot(writing, 0, 0)
    assert [(d.fault.kind, d.findings) for d in faulty.designs if d.fault] == [("grader", ())] * 2
    assert faulty.environment is None
    refused = await designer(reject).fill_slot(writing, 0, 0)
    assert [d.findings[0][:5] for d in refused.designs] == ["MODEL"] * 2
    assert all(design.variant for design in refused.designs)
