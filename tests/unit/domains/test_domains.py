"""The two domains of this package and the defaults: every part does what its protocol says."""

from __future__ import annotations

import random
from pathlib import Path
from types import MappingProxyType

import pytest

from spadework.config import DesignerSection, HintSection, PlaySection
from spadework.config.files import parse_config
from spadework.domains.games import GAMES
from spadework.domains.tool_use import TOOL_USE
from spadework.envs.check.codes import CODES, Code
from spadework.envs.domain import Briefing, Change, Checks, Dialogue, Display, Domain, Shown, Task
from spadework.envs.registry import find_domain, recognise, recognise_text
from spadework.envs.sandbox.base import Limits
from spadework.envs.watch import watch
from spadework.errors import ConfigError
from spadework.resources import shipped
from spadework.selfplay.design.examples import load_examples
from spadework.selfplay.design.prompts import Brief, agent_opening, design_messages, hint_messages
from spadework.types import Document

CALL = '<tool_call>{"name": "count", "arguments": {"item": "pens"}}</tool_call>'
TWO = [GAMES, TOOL_USE]


@pytest.mark.parametrize("domain", TWO, ids=lambda one: one.name)
def test_answers_survive_the_way_to_the_program_and_back(domain: Domain) -> None:
    dialogue = domain.dialogue
    for answer in ("42", "a b", r"\frac{1}{2}", "(1, 2)"):
        action = dialogue.encode(answer)
        assert (dialogue.action(action), dialogue.decode(action)) == (action, answer)
        assert dialogue.encode(action) == action
        assert not dialogue.malformed(action)
    assert dialogue.action("I do not know.") == ""


def test_calls_give_no_answer_and_may_be_malformed() -> None:
    assert TOOL_USE.dialogue.decode(CALL) is None
    assert TOOL_USE.dialogue.malformed('<tool_call>{"name": count}</tool_call>')


def test_the_defaults_are_a_plain_exchange_of_text() -> None:
    dialogue = Dialogue()
    assert (dialogue.action(" go \n"), dialogue.encode("go"), dialogue.decode("go")) == ("go", "go", "go")
    assert dialogue.messages("A room.", "go") == [{"role": "user", "content": "A room."}]
    assert Display().step("go") == [Shown("text", "go")]
    assert Display().step("") == []


@pytest.mark.parametrize("domain", TWO, ids=lambda one: one.name)
def test_every_prompt_of_a_domain_can_be_filled(domain: Domain) -> None:
    task = domain.briefing.draw_task(1)
    brief = Brief(domain.briefing.skills[0], Document("d", "Tea.", {"title": "Tea"}), task)
    for skeleton in (False, True):
        messages, _ = design_messages(DesignerSection(skeleton=skeleton), domain, brief, ())
        assert all("$" not in message["content"] for message in messages)
    assert hint_messages(HintSection(), domain, "SOURCE") and agent_opening(PlaySection(), domain)


def test_a_prompt_that_is_missing_is_named(tmp_path: Path) -> None:
    bare = Domain("bare", Briefing(tmp_path, ("a",)))
    with pytest.raises(ConfigError, match=r"agent_system\.md: the file is missing"):
        agent_opening(PlaySection(), bare)


@pytest.mark.parametrize(
    ("text", "said"), [("$skil of $place", r"nothing fills \$skil; there are .*\$skill"), ("costs $5", r"write \$\$")]
)
def test_a_place_that_nothing_fills_is_named_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    for name in ("designer", "designer_system"):
        (tmp_path / f"{name}.md").write_text(text)
    own = Domain("own", Briefing(tmp_path, ("a",)))
    with pytest.raises(ConfigError, match=rf"designer\.md: .*{said}"):
        design_messages(DesignerSection(), own, Brief("a", None, Task("v", {"place": "attic"})), ())


def test_what_a_domain_lacks_cannot_be_switched_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Domain("bare", Briefing(tmp_path, ("a",)))
    for name in ("designer", "designer_system", "hint"):
        (tmp_path / f"{name}.md").write_text("x")
    monkeypatch.setattr("spadework.domains.settings.find_domain", lambda name: bare)
    with pytest.raises(ConfigError, match=r"no prompt agent_system\.md; write .*agent_system\.md"):
        parse_config({"domain": "bare"}, "here")
    (tmp_path / "agent_system.md").write_text("x")
    for data, said in (
        ({"designer": {"skeleton": True}}, "designer.skeleton"),
        ({"warmup": {"enabled": True}}, "warmup.enabled"),
        ({"pool": {"anchors": ("x",)}}, "pool.anchors"),
        ({"validation": {"model_check": True}}, "validation.model_check"),
    ):
        with pytest.raises(ConfigError, match=said):
            parse_config({"domain": "bare", **data}, "here")
    assert parse_config({"domain": "bare"}, "here").designer.skills == ("a",)


def test_an_example_of_an_unknown_variant_is_named(tmp_path: Path) -> None:
    briefing = type(TOOL_USE.briefing)(TOOL_USE.briefing.prompts, ("a",), examples=tmp_path)
    (tmp_path / "one.py").write_text("")
    (tmp_path / "one.toml").write_text('title = "T"\ndocument = "d"\nhint = "h"\nskill = "s"\nvariant = "exceute"')
    with pytest.raises(ConfigError, match=r"one\.toml: variant: .*'exceute'; there are execute"):
        load_examples(Domain("d", briefing))


def test_programs_are_recognised_parsed_or_not() -> None:
    tool = "class AEnv(ToolUseBaseEnv):\n    pass\n"
    game = "class AEnv:\n    pass\n"
    assert (recognise(tool).name, recognise_text(tool).name) == ("tool_use", "tool_use")
    assert (recognise(game).name, recognise_text(game).name) == ("games", "games")
    assert recognise_text(f"```python\n{tool}").name == "tool_use"
    assert recognise("no python").name == "games"


def test_a_code_of_the_catalogue_cannot_be_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Taking(Checks):
        codes = MappingProxyType({"ENV001": Code("error", "mine", "")})

    taking = Domain("taking", GAMES.briefing, checks=Taking())
    monkeypatch.setattr("spadework.envs.registry.DOMAINS.find", lambda name: taking)
    with pytest.raises(ConfigError, match="ENV001 is taken"):
        find_domain("taking")
    assert CODES["ENV001"].title != "mine"


def test_differences_name_their_place() -> None:
    before = {"orders": {"7": {"status": "open", "items": [1, 2]}}, "gone": 1}
    after = {"orders": {"7": {"status": "paid", "items": [1, 3]}}, "new": [1]}
    assert Display().difference(before, after) == [
        Change("orders/7/status", "open", "paid"),
        Change("orders/7/items/1", 2, 3),
        Change("gone", 1, None),
        Change("new", None, [1]),
    ]
    assert Display().difference(before, before) == []


def test_steps_are_shown_in_pieces() -> None:
    assert TOOL_USE.display.step(f"{CALL}<answer>done</answer>") == [
        Shown("call", "count", {"item": "pens"}),
        Shown("text", "done"),
    ]
    (problem,) = TOOL_USE.display.step('<tool_call>{"name": count}</tool_call>')
    assert problem.kind == "problem"
    assert GAMES.display.step(r"\boxed{4}") == [Shown("text", "4")]


async def test_the_state_of_a_service_is_watched(sandbox) -> None:
    source = (shipped("examples") / "environments" / "tool_use" / "shopping_cart.py").read_text()
    seen = await watch(sandbox, TOOL_USE, source, (0, []), Limits())
    assert len(seen) == 1 and seen[0].state and isinstance(seen[0].state, dict)


DATABASE = """
class RowsEnv(SqliteToolEnv):
    _schema = "CREATE TABLE orders (id TEXT, paid INTEGER); CREATE TABLE sums (k TEXT PRIMARY KEY) WITHOUT ROWID;"
    def reset(self, seed=None):
        self._fill({"orders": [("a", 0), ("b", 0)], "sums": [("x",)]})
        self._tools = [{"name": "pay", "description": "", "parameters": {"type": "object", "properties": {}}}]
        self._user_messages, self._message_criteria = ["Pay b."], ["SELECT 0"]
        return "Pay b.", {}
    def tool_pay(self):
        self._state.execute("DELETE FROM orders WHERE id = 'a'")
        self._state.execute("UPDATE orders SET paid = 1 WHERE id = 'b'")
        return {"ok": True}
"""


async def test_rows_of_a_database_keep_their_place(sandbox) -> None:
    call = '<tool_call>{"name": "pay", "arguments": {}}</tool_call>'
    seen = await watch(sandbox, TOOL_USE, DATABASE, (0, [call]), Limits())
    assert seen[0].state == {
        "orders": {"1": {"id": "a", "paid": 0}, "2": {"id": "b", "paid": 0}},
        "sums": {"0": {"k": "x"}},
    }
    assert seen[1].changes == (Change("orders/1", {"id": "a", "paid": 0}, None), Change("orders/2/paid", 0, 1))


async def test_games_show_their_attributes_and_what_cannot_be_shown_by_its_type(sandbox) -> None:
    source = """
import random
class CountEnv:
    def reset(self, seed=None):
        self.rng, self.n, self.seen = random.Random(seed), 0, {3, 1}
        return "Count.", {}
    def step(self, action):
        self.n += 1
        return "So.", 0.0, False, self.n > 1, {}
"""
    seen = await watch(sandbox, GAMES, source, (0, [r"\boxed{1}", r"\boxed{2}", r"\boxed{3}"]), Limits())
    assert {**seen[0].state, "max_turns": 0} == {"rng": "<Random>", "n": 0, "seen": [1, 3], "max_turns": 0}
    assert [one.changes for one in seen] == [(), (Change("n", 0, 1),), (Change("n", 1, 2),)]


async def test_a_program_that_falls_over_gives_what_was_seen(sandbox) -> None:
    source = "class BadEnv:\n    def reset(self, seed=None):\n        self.n = 1\n        return 'x', {}\n    def step(self, a):\n        raise ValueError\n"
    assert len(await watch(sandbox, GAMES, source, (0, ["a"]), Limits())) == 1
    assert await watch(sandbox, GAMES, "rlve:Sorting", (0, []), Limits()) == []
    assert await watch(sandbox, GAMES, "class", (0, []), Limits()) == []


def test_draws_of_tasks_follow_the_seed() -> None:
    seeds = random.Random(0).sample(range(1000), 20)
    assert [TOOL_USE.briefing.draw_task(s) for s in seeds] == [TOOL_USE.briefing.draw_task(s) for s in seeds]
    assert GAMES.briefing.draw_task(1) is None
