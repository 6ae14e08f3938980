"""The hint writer: what leaks is written again, by the rules of the domain."""

from __future__ import annotations

from spadework.config import HintSection
from spadework.domains.games import GAMES
from spadework.domains.tool_use import TOOL_USE
from spadework.envs.check.runtime import RuntimeChecks, check_runtime
from spadework.envs.check.tool_use.criteria import hidden_values
from spadework.resources import shipped
from spadework.selfplay.design.hints import HintWriter, clean_hint
from spadework.selfplay.design.validation import Verdict
from spadework.testing.scripted import ScriptedPolicy

SOURCE = (shipped("examples") / "environments" / "tool_use" / "top_up_a_shelf.py").read_text()
GOOD = "Count first, then order the difference."


async def judged(sandbox, source, domain):
    settings = RuntimeChecks(seeds=3, random_plays=0, grading=False)
    return Verdict((), True, await check_runtime(sandbox, source, domain, settings))


async def write(domain, source, verdict, *hints):
    left = list(hints)
    policy = ScriptedPolicy(lambda messages, rng, version: left.pop(0))
    hint = await HintWriter(HintSection(attempts=len(hints)), domain)(policy, source, verdict, (0,))
    if hint is not None:
        assert sum(segment.sampled for segment in hint.segments) > 0, "the reply that was kept can train"
    return hint and hint.text, left


async def test_a_tool_use_hint_with_a_value_that_has_to_be_looked_up_is_written_again(sandbox):
    verdict = await judged(sandbox, SOURCE, TOOL_USE)
    assert verdict.report is not None
    value = min(hidden_values(verdict.report.oracle))
    leaking = f"Order {value} of them."
    assert await write(TOOL_USE, SOURCE, verdict, leaking, "", f"Hint: {GOOD}\n\nmore") == (GOOD, [])
    assert await write(TOOL_USE, SOURCE, verdict, leaking) == (None, [])
    assert (await write(TOOL_USE, SOURCE, verdict, "Then answer done."))[0] is not None


async def test_a_games_hint_with_the_answer_is_written_again(sandbox, game):
    verdict = await judged(sandbox, game, GAMES)
    assert verdict.report is not None
    answer = verdict.report.oracle[0].actions[-1].removeprefix("\\boxed{").removesuffix("}")
    assert await write(GAMES, game, verdict, f"The answer is {answer}.", "Divide.") == ("Divide.", [])


def test_hints_are_cleaned():
    assert clean_hint('<think>x</think>HINT: "one two three"', 2) == "one two"
