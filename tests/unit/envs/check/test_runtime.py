from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from spadework.domains.games import GAMES
from spadework.domains.tool_use import TOOL_USE
from spadework.envs.check.answers.leaks import check_hint
from spadework.envs.check.panel import first_play
from spadework.envs.check.players import oracle
from spadework.envs.check.program import Checked, check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks, check_runtime
from spadework.envs.check.tool_use.criteria import hidden_values
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import SandboxError
from spadework.resources import shipped
from spadework.selfplay.pool.files import read_pool

ENVIRONMENTS = shipped("examples") / "environments"
BROKEN = sorted(path for path in (ENVIRONMENTS / "broken").glob("*.py") if ".fixed" not in path.name)
QUICK = RuntimeChecks(limits=Limits(cpu_seconds=0.3))


def check_folder(folder: Path) -> dict[str, Checked]:
    async def all_of_it() -> dict[str, Checked]:
        async with ForkServer() as sandbox:

            async def work(entry):
                environment = entry.environment
                return await check_program(sandbox, environment.source, QUICK, hint=environment.hint)

            return {entry.name: checked async for entry, checked in in_order(read_pool(folder), work, 4)}

    return asyncio.run(all_of_it())


@pytest.fixture(scope="module")
def broken() -> dict[str, Checked]:
    return check_folder(ENVIRONMENTS / "broken")


def codes(checked: Checked) -> set[str]:
    return {finding.code for finding in checked.findings}


def test_there_are_at_least_forty_broken_programs_each_with_its_twin():
    assert len(BROKEN) >= 40
    assert all(path.with_suffix(".fixed.py").exists() for path in BROKEN)


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_the_fault_is_found_with_its_code(broken, path):
    assert path.name.split("_")[0] in codes(broken[path.name])


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_the_fixed_twin_raises_no_alarm(broken, path):
    twin = broken[path.with_suffix(".fixed.py").name]
    assert [str(finding) for finding in twin.findings if finding.severity != "info"] == []
    assert path.name.split("_")[0] not in codes(twin)


def test_bundled_tool_use_environments_are_clean_and_cover_the_domains():
    checked = check_folder(ENVIRONMENTS / "tool_use")
    assert len(checked) >= 10
    for name, one in checked.items():
        assert [str(finding) for finding in one.findings if finding.severity != "info"] == [], name
        # One of them declares the whole difference of its database, so that it is a small database world too.
        assert one.domain == ("database" if name == "project_tracker.py" else "tool_use")
        assert one.statistics.win_rates["oracle"] == 1.0
        assert one.statistics.win_rates["no-op"] == 0.0


@pytest.mark.slow
def test_bundled_games_are_clean():
    for name, one in check_folder(ENVIRONMENTS / "games").items():
        assert [str(finding) for finding in one.findings if finding.severity != "info"] == [], name


GOOD = (ENVIRONMENTS / "games" / "division_with_remainder.py").read_text()


async def test_few_instances_are_opened(sandbox):
    opened = []
    start = sandbox.open

    async def counted(source, limits):
        opened.append(source)
        return await start(source, limits)

    sandbox.open = counted
    report = await check_runtime(sandbox, GOOD, GAMES, RuntimeChecks())
    assert len(opened) == 3 + first_play.PLAYS
    assert len(report.oracle) == 5
    tool = (ENVIRONMENTS / "tool_use" / "calendar.py").read_text()
    opened.clear()
    await check_runtime(sandbox, tool, TOOL_USE, RuntimeChecks())
    assert len(opened) == 4 + first_play.PLAYS
    assert not sandbox._live or all(instance.exited.done() for instance in sandbox._live)


async def test_a_fault_of_the_sandbox_is_no_finding():
    box = ProcessSandbox()
    await box.close()
    with pytest.raises(SandboxError):
        await check_runtime(box, GOOD, GAMES, RuntimeChecks())


async def test_the_same_check_twice_says_the_same(sandbox):
    reports = [await check_runtime(sandbox, GOOD, GAMES, RuntimeChecks()) for _ in range(2)]
    assert reports[0] == reports[1]


async def test_without_a_panel_only_faults_and_seeds_are_looked_at(sandbox):
    coin = (ENVIRONMENTS / "broken" / "ENV403_coin_flip.py").read_text()
    assert (await check_runtime(sandbox, coin, GAMES, RuntimeChecks(panel=False))).findings == ()


async def test_the_operand_of_a_question_is_no_leak(sandbox):
    source = """
import random
class LargestEnv:
    max_turns = 1
    def reset(self, seed=None):
        self.ns = random.Random(seed).sample(range(100, 999), 8)
        return f"Which is the largest of {', '.join(map(str, self.ns))}?", {}
    def step(self, action):
        return "", float(action == "\\\\boxed{%d}" % max(self.ns)), True, False, {}
    def solution(self):
        return str(max(self.ns))
"""
    report = await check_runtime(sandbox, source, GAMES, RuntimeChecks())
    assert [str(finding) for finding in report.findings if finding.severity != "info"] == []


async def test_statistics(sandbox):
    source = """
import random
class StepsEnv:
    max_turns = 4
    def reset(self, seed=None):
        self.n, self.t = random.Random(seed).randint(100, 999), 0
        return f"Halve {self.n} twice, rounded down, one step a turn.", {}
    def step(self, action):
        self.t += 1
        if action != "\\\\boxed{%d}" % (self.n // 2):
            return "No.", 0.0, True, False, {}
        self.n //= 2
        return f"Now {self.n}.", (0.5 if self.t == 1 else 1.0), self.t == 2, False, {}
    def solution(self):
        return str(self.n // 2)
"""
    figures = (await check_runtime(sandbox, source, GAMES, RuntimeChecks())).statistics
    assert figures.oracle_turns == 2.0
    assert figures.reward_levels == (0.0, 0.5, 1.0)
    assert figures.partial_rewards
    assert figures.win_rates["oracle"] == 1.0
    assert set(figures.wins_by_seed.values()) == {0.0}
    assert figures.false_accepts == 0.0


async def test_hidden_values_are_what_the_oracle_had_to_look_up(sandbox):
    source = (ENVIRONMENTS / "tool_use" / "retail_orders.py").read_text()
    played, shadow = [await sandbox.open(source, Limits()) for _ in range(2)]
    hidden = hidden_values([await oracle(played, shadow, 0, TOOL_USE, 20)])
    assert any(value.startswith("W") for value in hidden)
    assert "cancelled" not in hidden


def codes_of(findings):
    return {finding.code for finding in findings}


def test_hints():
    openings = ["Which word is hidden? It has 6 letters.", "Which word is hidden? It has 5 letters."]
    assert check_hint("Try vowels first.", ["planet", "river"], openings) == []
    assert codes_of(check_hint("Think of PLANET.", ["planet", "river"], openings)) == {"ENV503"}
    assert check_hint("Planetary thinking helps.", ["planet", "river"], openings) == []
    assert check_hint("Say yes or no.", ["yes", "no"], openings) == []
    assert codes_of(check_hint("The answer is 7.", ["7", "9"], openings)) == {"ENV503"}
    assert check_hint("Take 7 steps at most.", ["7", "9"], openings) == []
    assert codes_of(check_hint("word " * 101, [], openings)) == {"ENV506"}
    assert codes_of(check_hint("Cancel W123.", [], openings, hidden=["W123", "W9"])) == {"ENV504"}
    assert check_hint("Cancel W123.", [], ["It is W123."], hidden=["W123"]) == []


async def test_many_at_a_time_come_back_in_order_and_an_error_is_a_result():
    running = peak = 0

    async def work(number):
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001 * (7 - number))
        running -= 1
        if number == 3:
            raise SandboxError("X", "gone")
        return number * 10

    drawn = []

    def items():
        for number in range(8):
            drawn.append(number)
            yield number

    results = []
    async for item, result in in_order(items(), work, 2):
        results.append((item, result))
        assert len(drawn) <= item + 5
    assert [item for item, _ in results] == list(range(8))
    assert isinstance(results[3][1], SandboxError)
    assert results[4][1] == 40
    assert peak == 2


async def test_tools_without_the_provided_base_are_played_and_not_looked_into(sandbox):
    source = """
import json, random
class LoneEnv:
    max_turns = 4
    def reset(self, seed):
        self.n = random.Random(seed).randint(1000, 9999)
        self._call_history = [("odd", 1)]
        return "Look the number up, then answer it."
    def get_tools(self):
        schema = {"type": "object", "properties": {}}
        return [{"type": "function", "function": {"name": "look", "parameters": schema}}]
    def tool_look(self):
        return self.n
    def step(self, action):
        if "<tool_call>" in action:
            return str(self.tool_look()), 0.0, False, False, {}
        won = action == f"<answer>{self.n}</answer>"
        return "", float(won), True, False, {}
    def solution(self):
        return str(self.n)
"""
    checked = await check_program(sandbox, source, RuntimeChecks())
    assert checked.domain == "tool_use"
    assert [str(finding) for finding in checked.findings] == []
