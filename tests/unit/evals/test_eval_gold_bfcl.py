"""BFCL's own data, loop and checker against scripted policies: gold plays pass, wrong ones fail."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence

import pytest

from spadework.envs.tool_calls import render_call
from spadework.evals.records import Item
from spadework.evals.registry import SuiteOptions
from spadework.evals.suites import bfcl
from spadework.policies.base import Message
from spadework.testing.scripted import ScriptedPolicy

pytest.importorskip("bfcl_eval", reason="needs bfcl-eval: pip install --no-deps -r requirements/eval-no-deps.txt")

EACH = 12
"""Gold plays of each category."""


@pytest.fixture(scope="module")
def suite() -> bfcl.Bfcl:
    return bfcl.make("bfcl", SuiteOptions(sampling={"max_tokens": 20_000}))  # the script counts bytes


def calls_of(turn: list[str], tools: Sequence[dict]) -> str | None:
    """Gold calls as a model would write them; None where one is no plain call."""
    order = {tool["name"]: list(tool["parameters"]["properties"]) for tool in tools}
    written = []
    for text in turn:
        try:
            call = ast.parse(text, mode="eval").body
            named = dict(zip(order[call.func.id], map(ast.literal_eval, call.args), strict=False))
            named |= {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        except (ValueError, KeyError, AttributeError):
            return None
        written.append(render_call(call.func.id, named))
    return "\n".join(written)


def gold_player(entry: dict, gold: list[list[str]]) -> ScriptedPolicy | None:
    """Plays each turn's gold calls in one reply, then says that it is done."""
    hidden = [tool for tools in entry.get("missed_function", {}).values() for tool in tools]
    turns = [calls_of(turn, [*entry["function"], *hidden]) for turn in gold]
    if None in turns:
        return None

    def script(messages: Sequence[Message], rng: object, version: int) -> str:
        turn = sum(message["role"] == "user" for message in messages) - 1
        return turns[turn] if messages[-1]["role"] == "user" and turns[turn] else "Done."

    return ScriptedPolicy(script)


def test_all_800_entries_load(suite: bfcl.Bfcl) -> None:
    groups = [item.group for item in suite.items()]
    assert {group: groups.count(group) for group in groups} == dict.fromkeys(bfcl.CATEGORIES, 200)
    assert len({item.id for item in suite.items()}) == 800
    assert suite.setting.aggregate == "groups" and suite.setting.sampling["temperature"] == 0


def test_tries_that_are_asked_for_are_items(suite: bfcl.Bfcl) -> None:
    twice = bfcl.make("bfcl", SuiteOptions(trials=2))
    assert [item.id for item in twice.items()[:2]] == [f"{suite.items()[0].id}#{trial}" for trial in range(2)]
    assert len(twice.items()) == 1_600 and len({item.unit for item in twice.items()}) == 800


@pytest.mark.parametrize("category", bfcl.CATEGORIES)
async def test_gold_plays_pass_and_plays_that_skip_a_turn_fail(suite: bfcl.Bfcl, category: str) -> None:
    played = 0
    for item in [item for item in suite.items() if item.group == category]:
        entry, gold = suite._entries[item.id]
        player = gold_player(entry, gold)
        if player is None:
            continue
        right = await suite.score(player, item, (0,))
        assert right.score == 1, (item.id, right.detail)
        first = next(place for place, turn in enumerate(gold) if turn)
        wrong = await suite.score(gold_player(entry, [*gold[:first], [], *gold[first + 1 :]]), item, (0,))
        assert wrong.score == 0 and wrong.detail["why"]
        played += 1
        if played == EACH:
            break
    assert played == EACH


async def test_a_function_held_back_is_offered_at_its_turn(suite: bfcl.Bfcl) -> None:
    item = next(item for item in suite.items() if item.group == "miss_func")
    offered: list[set[str]] = []

    class Watching(ScriptedPolicy):
        def chat(self, messages, *, tools=(), prefill=""):
            offered.append({tool["function"]["name"] for tool in tools})
            return super().chat(messages, tools=tools, prefill=prefill)

    await suite.score(Watching(lambda *_: "I cannot do that."), item, (0,))
    missed = suite._entries[item.id][0]["missed_function"]
    names = {tool["name"] for tools in missed.values() for tool in tools}
    assert names and not names & offered[0] and names <= offered[-1] and len(offered) == 1 + len(missed)


@pytest.mark.parametrize(
    "call",
    [
        render_call("open", {"file": "{path}", "mode": "w"}),
        render_call("ls", {"a=open('{path}', 'w'), b": 1}),
        render_call("(lambda: open('{path}', 'w'))() or ls", {}),
        "<tool_call>{broken</tool_call>",
    ],
)
async def test_what_a_model_writes_is_never_evaluated_as_code(suite: bfcl.Bfcl, call: str, tmp_path) -> None:
    path = tmp_path / "made"
    text = call.replace("{path}", str(path))
    assert json.dumps(str(path)).strip('"') in text or "{broken" in text
    outcome = await suite.score(ScriptedPolicy(lambda *_: text), suite.items()[0], (0,))
    assert outcome.score == 0 and not path.exists()


async def test_twenty_calls_in_a_turn_end_the_entry(suite: bfcl.Bfcl) -> None:
    looping = ScriptedPolicy(lambda *_: render_call("ls", {}))
    outcome = await suite.score(looping, suite.items()[0], (0,))
    assert outcome.score == 0 and "force_terminated" in outcome.detail["why"] and outcome.detail["replies"] == 21


def test_items_are_named_by_the_entry(suite: bfcl.Bfcl) -> None:
    assert suite.items()[0] == Item("multi_turn_base_0", "base", "multi_turn_base_0")
