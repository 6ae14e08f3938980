"""What every Sandbox must do, whatever it is made of. ``test_sandbox.py`` runs it over each."""

from __future__ import annotations

import asyncio
import math
import textwrap
from dataclasses import replace

import pytest

from spadework.envs.contract import ALLOWED_IMPORTS
from spadework.envs.sandbox.base import Limits, Sandbox, Step
from spadework.errors import FaultError, ProgramError, SandboxError

GAME = """
class CountdownEnv:
    max_turns = 7

    def reset(self, seed=None):
        self.target = random.Random(seed).randint(1, 999)
        self.turns = 0
        return f"count down from {self.target}", {"seed": seed}

    def step(self, action):
        self.turns += 1
        won = action == str(self.target)
        return f"turn {self.turns}: {action}", 1.0 if won else 0.0, won, self.turns >= 7, {"turn": self.turns}

    def solution(self):
        return str(self.target)
"""
LIMITS = Limits(cpu_seconds=0.3, load_seconds=1.0, wall_seconds=5.0)


def step_of(body: str, reset: str = "return 'hello'", head: str = "") -> str:
    """A program whose ``step`` runs ``body``."""
    lines = ["class ProbeEnv:", "    def reset(self, seed=None):", textwrap.indent(textwrap.dedent(reset), " " * 8)]
    lines += ["    def step(self, action):", textwrap.indent(textwrap.dedent(body), " " * 8)]
    return head + "\n".join(lines) + "\n"


def returning(expression: str, head: str = "") -> str:
    """A program whose ``step`` returns ``expression``."""
    return step_of(f"return {expression}", head=head)


async def outcome(sandbox: Sandbox, source: str, action: str = "go", limits: Limits = LIMITS) -> Step | FaultError:
    """What one step of ``source`` comes to."""
    try:
        session = await sandbox.open(source, limits)
        try:
            await session.reset(1)
            return await session.step(action)
        finally:
            await session.close()
    except FaultError as error:
        return error


async def code_of(sandbox: Sandbox, source: str, limits: Limits = LIMITS) -> str:
    result = await outcome(sandbox, source, limits=limits)
    return result.fault.code if isinstance(result, FaultError) else "no fault"


class SandboxConformance:
    """Subclasses give the ``sandbox`` fixture."""

    async def test_plays_an_episode(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(GAME, LIMITS)
        start = await session.reset(3)
        assert start.observation.startswith("count down from") and start.info == {"seed": 3} and not start.done
        assert session.max_turns == 7 and session.tools == ()
        step = await session.step("é \U0001f600")
        assert step == Step("turn 1: é \U0001f600", 0.0, False, False, {"turn": 1})
        answer = await session.call("solution")
        step = await session.step(answer)
        assert step.reward == 1.0 and step.terminated and not step.truncated
        again = await session.reset(3)
        assert again == start
        await session.close()

    async def test_plays_of_scripts_are_those_of_reset_and_step(self, sandbox: Sandbox) -> None:
        one, many = await sandbox.open(GAME, LIMITS), await sandbox.open(GAME, LIMITS)
        actions = ["é \U0001f600", "", *(f"{number}" for number in range(8))]
        assert await many.play([]) == []
        episodes = await many.play([(3, actions), (4, ()), (5, actions[:2])])
        for seed, episode in zip((3, 4, 5), episodes, strict=True):
            opening, *taken = episode
            assert opening == replace(await one.reset(seed), info={})
            assert taken == [replace(await one.step(action), info={}) for action in actions[: len(taken)]]
        assert [len(episode) for episode in episodes] == [8, 1, 3]
        assert [step.done for step in episodes[0]] == [*[False] * 7, True]
        assert (await many.step(actions[2])) == await one.step(actions[2])

    async def test_a_play_names_the_action_that_raised(self, sandbox: Sandbox) -> None:
        source = step_of("1 / (len(action) - 2)\nreturn action, 0.0, action == 'end', False, {}")
        session = await sandbox.open(source, LIMITS)
        with pytest.raises(ProgramError) as caught:
            await session.play([(1, ["one", "end", "one"]), (2, ()), (3, ["three", "tw", "four"])])
        assert caught.value.fault.code == "ENV201" and caught.value.__notes__ == ["on the action 'tw'"]
        (episode,) = await session.play([(1, ["one", "three"])])
        assert [step.observation for step in episode[1:]] == ["one", "three"]

    async def test_a_play_blames_no_action_for_a_reset(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(step_of("return '', 0, False, False, {}", "return 'x' * (seed < 2)"), LIMITS)
        with pytest.raises(ProgramError) as caught:
            await session.play([(1, ["one"]), (2, ["two"])])
        assert caught.value.fault.code == "ENV202" and not hasattr(caught.value, "__notes__")

    async def test_each_step_of_a_play_has_the_whole_limit(self, sandbox: Sandbox) -> None:
        burn = "for _ in range(4_000_000): pass"  # a fifth of a second or so
        source = step_of(f"while action == 'for ever': pass\n{burn}\nreturn action, 0.0, False, False, {{}}")
        limits = Limits(cpu_seconds=1.0, load_seconds=1.0, wall_seconds=60.0)
        session = await sandbox.open(source, limits)
        assert [len(episode) for episode in await session.play([(1, ["on"] * 6), (2, ["on"] * 6)])] == [7, 7]
        with pytest.raises(ProgramError) as caught:
            await session.play([(1, ["on"]), (2, ["for ever", "on"])])
        assert caught.value.fault.code == "ENV205" and caught.value.__notes__ == ["on the action 'for ever'"]

    async def test_sessions_do_not_share_state(self, sandbox: Sandbox) -> None:
        source = step_of("self.n += 1\nreturn str(self.n), 0, False, False, {}", "self.n = 0\nreturn 'hello'")
        first, second = await sandbox.open(source, LIMITS), await sandbox.open(source, LIMITS)
        await asyncio.gather(first.reset(1), second.reset(1))
        assert [(await first.step("")).observation for _ in range(3)] == ["1", "2", "3"]
        assert (await second.step("")).observation == "1"
        await first.close()
        assert (await second.step("")).observation == "2"

    @pytest.mark.parametrize(
        ("source", "code"),
        [
            ("class AEnv(:\n", "ENV001"),
            ("x = '\0'", "ENV001"),
            ("x = 1", "ENV002"),
            ("class ToolUseBaseEnv:\n    pass", "ENV002"),
            ("class AEnv:\n    def __init__(self):\n        1 / 0", "ENV003"),
            ("import socket_that_is_not_there\nclass AEnv:\n    pass", "ENV003"),
            ("raise SystemExit\nclass AEnv:\n    pass", "ENV003"),
            ("class AEnv:\n    pass", "ENV204"),
            (step_of("raise ValueError('no')"), "ENV201"),
            (step_of("raise SystemExit"), "ENV201"),
            (step_of("return", "raise KeyboardInterrupt"), "ENV201"),
            (returning("None"), "ENV202"),
            (returning("('a', 1.0, False)"), "ENV202"),
            (returning("(3, 0, False, False, {})"), "ENV202"),
            (returning("(b'a', 0, False, False, {})"), "ENV202"),
            (returning("('a', '1', False, False, {})"), "ENV202"),
            (returning("('a', None, False, False, {})"), "ENV202"),
            (returning("('a', 0, 1, False, {})"), "ENV202"),
            (returning("('a', 0, False, None, {})"), "ENV202"),
            (returning("('a', 0, False, False, [])"), "ENV202"),
            (returning("('a', 0, False, False, {'x': object()})"), "ENV202"),
            (returning("('a', 0, False, False, {(1, 2): 3})"), "ENV202"),
            (step_of("return", "return 3"), "ENV202"),
            (step_of("return", "return ''"), "ENV202"),
            (step_of("return", "return 'a', 3"), "ENV202"),
            (returning("('a', float('nan'), False, False, {})"), "ENV203"),
            (returning("('a', -math.inf, False, False, {})"), "ENV203"),
            (returning("('a', 1.01, False, False, {})"), "ENV203"),
            (returning("('a', 10 ** 400, False, False, {})"), "ENV203"),
            (step_of("while True: pass"), "ENV205"),
            (step_of("return", "while True: pass"), "ENV205"),
            ("while True: pass", "ENV205"),
            (step_of("x = [0] * 10 ** 9"), "ENV206"),
            ("x = bytearray(1 << 30)\nclass AEnv:\n    pass", "ENV206"),
            (returning("('a' * 100_001, 0, False, False, {})"), "ENV207"),
            (step_of("import os\nos._exit(3)"), "ENV208"),
        ],
    )
    async def test_types_each_fault(self, sandbox: Sandbox, source: str, code: str) -> None:
        error = await outcome(sandbox, source)
        assert isinstance(error, ProgramError), error
        assert error.fault.code == code, error

    async def test_a_sleeper_meets_the_wall(self, sandbox: Sandbox) -> None:
        source = step_of("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()")
        assert await code_of(sandbox, source, Limits(wall_seconds=0.5)) == "ENV205"

    @pytest.mark.parametrize(
        ("source", "step"),
        [
            (returning("('a', True, False, False, {})"), Step("a", 1.0)),
            (returning("('a', 1, True, {'k': 1})"), Step("a", 1.0, True, False, {"k": 1})),
            (returning("['a', -1, False, True, {}]"), Step("a", -1.0, False, True)),
            (
                returning("('', np.float32(0.5), np.bool_(True), False, {'a': np.arange(2)})"),
                Step("", 0.5, True, False, {"a": [0, 1]}),
            ),
            (returning("('\\ud800', 0, False, False, {'s': {3}})"), Step("?", 0.0, False, False, {"s": [3]})),
        ],
    )
    async def test_accepts_what_released_pools_do(self, sandbox: Sandbox, source: str, step: Step) -> None:
        assert await outcome(sandbox, source) == step

    async def test_keeps_the_traceback(self, sandbox: Sandbox) -> None:
        error = await outcome(sandbox, step_of("one = 1\nreturn one / 0"))
        assert isinstance(error, ProgramError)
        assert "ZeroDivisionError" in error.fault.message
        assert "return one / 0" in error.fault.detail and "runner.py" not in error.fault.detail

    async def test_an_exception_does_not_end_the_session(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(step_of("return 'a', 0, int(action), False, {}"), LIMITS)
        await session.reset(1)
        for _ in range(2):
            with pytest.raises(ProgramError, match="ENV201"):
                await session.step("x")
        assert (await session.reset(2)).observation == "hello"
        with pytest.raises(ProgramError, match="ENV204"):
            await session.call("no_such_method")

    async def test_a_fatal_fault_is_raised_again(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(step_of("while True: pass"), LIMITS)
        await session.reset(1)
        for _ in range(2):
            with pytest.raises(ProgramError, match="ENV205"):
                await session.step("x")
        with pytest.raises(ProgramError, match="ENV205"):
            await session.reset(1)
        await session.close()
        await session.close()

    async def test_a_closed_session_says_so(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(GAME, LIMITS)
        await session.close()
        with pytest.raises(SandboxError, match="closed"):
            await session.reset(1)

    async def test_turn_budget_is_the_lower_of_both(self, sandbox: Sandbox) -> None:
        def program(init: str) -> str:
            return f"class AEnv:\n    def __init__({init}\n    def reset(self, seed=None):\n        return str(self.max_turns)\n"

        cases = {
            "self): self.max_turns = 3": 3,
            "self): self.max_turns = 99": 25,
            "self, max_turns=4): self.max_turns = max_turns": 4,
        }
        cases["self, max_turns): self.max_turns = max_turns"] = 25
        for init, turns in cases.items():
            session = await sandbox.open(program(init), LIMITS)
            assert session.max_turns == turns
            assert (await session.reset(1)).observation == str(turns)
            await session.close()

    async def test_named_methods_take_and_give_json(self, sandbox: Sandbox) -> None:
        source = GAME + "    def execute_tool(self, name, arguments):\n        return {'name': name, **arguments}\n"
        session = await sandbox.open(source, LIMITS)
        assert await session.call("execute_tool", "buy", {"n": 2}) == {"name": "buy", "n": 2}
        await session.close()

    async def test_tools_are_read_at_reset(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(GAME + "    def get_tools(self):\n        return [{'type': 'function'}]\n", LIMITS)
        await session.reset(1)
        assert session.tools == ({"type": "function"},)

    async def test_the_same_seed_gives_the_same_bytes(self, sandbox: Sandbox) -> None:
        body = """
        import os, secrets, time, uuid, datetime
        parts = [random.random(), random.Random().random(), random.SystemRandom().random(), np.random.rand(), time.time(),
                 np.random.default_rng().random(), secrets.token_hex(4), uuid.uuid4(), uuid.uuid1(), os.urandom(4),
                 datetime.datetime.now(), datetime.date.today(), time.ctime(), hash("a"), {"x", "y", "z"}, time.perf_counter_ns()]
        time.sleep(1000)
        return repr(parts), 0, False, False, {}
        """
        transcripts = []
        for seed in (1, 1, 2):
            session = await sandbox.open(step_of(body), LIMITS)
            await session.reset(seed)
            transcripts.append([(await session.step("")).observation for _ in range(2)])
            await session.reset(seed)
            assert [(await session.step("")).observation for _ in range(2)] == transcripts[-1]
            await session.close()
        assert transcripts[0] == transcripts[1] != transcripts[2]
        assert transcripts[0][0] != transcripts[0][1]

    async def test_sqlite_keeps_to_the_seed(self, sandbox: Sandbox) -> None:
        body = """
        import sqlite3
        db = sqlite3.connect(":memory:")
        db.execute("create table t (x integer primary key, at text default current_timestamp)")
        db.executemany("insert into t (x) values (?)", [(i,) for i in range(99)])
        rows = db.execute("select x, at, random() from t order by random() limit 3").fetchall()
        more = db.execute("select date('now'), datetime('now', '+1 day'), strftime('%Y', 'now'), date('2024-01-31', '+1 day'), hex(randomblob(4))")
        return repr((rows, more.fetchall())), 0, False, False, {}
        """
        first, second = await outcome(sandbox, step_of(body)), await outcome(sandbox, step_of(body))
        assert isinstance(first, Step) and first == second
        assert "'2023-11-14', '2023-11-15 22:13:20', '2023', '2024-02-01'" in first.observation

    async def test_math_verify_and_the_prelude_work(self, sandbox: Sandbox) -> None:
        body = """
        from math_verify import parse, verify
        right = verify(parse("$1/2$"), parse("\\\\boxed{0.5}"))
        names = deque, defaultdict, Counter, combinations, reduce, deepcopy, heappush, List, Optional, statistics.mean
        return str(right), float(np.linalg.inv(np.eye(2))[0, 0]), False, False, {}
        """
        assert await outcome(sandbox, step_of(body)) == Step("True", 1.0)

    async def test_every_module_of_the_contract_is_there_for_who_asks(self, sandbox: Sandbox) -> None:
        texts = {
            **{f"import {name}": "str(1)" for name in ALLOWED_IMPORTS if name != "__future__"},
            "from decimal import Decimal as D, getcontext": "str(D(1))",
            "import json, fractions as f": "str(f.Fraction(1))",
            "import \\\n    statistics": "str(statistics.mean([1]))",
            "if True: import calendar": "str(calendar.monthrange(2024, 4)[1] - 29)",
            "import time": "time.strptime('1', '%d').tm_mday",
            "": "str(statistics.mean([1]))",
            "class Own(ToolUseBaseEnv): pass": "str(1)",
            "DASH = '\\N{EM DASH}'": "str(len(DASH))",
            "HOST = 'x'.encode('idna')": "str(len(HOST))",
        }
        sources = [returning(f"str({text}), 0, False, False, {{}}", head=f"{head}\n") for head, text in texts.items()]
        results = [await outcome(sandbox, source) for source in sources]
        wrong = {head: got for head, got in zip(texts, results, strict=True) if got != Step("1")}
        assert wrong == {}

    async def test_dates_are_still_dates(self, sandbox: Sandbox) -> None:
        body = """
        from datetime import date, datetime, timedelta
        later = datetime.now() + timedelta(days=1)
        kinds = [isinstance(later, date), isinstance(later.date(), date), isinstance(later, datetime),
                 isinstance(date.today() - timedelta(1), date), not isinstance(date.today(), datetime), date(2024, 1, 2) < date.today().replace(year=2030)]
        return str(kinds), 0, False, False, {}
        """
        assert await outcome(sandbox, step_of(body)) == Step(str([True] * 6))

    async def test_a_large_action_and_observation_pass(self, sandbox: Sandbox) -> None:
        result = await outcome(
            sandbox, step_of("return action[:100_000], 0, False, False, {'n': len(action)}"), "a" * 3_000_000
        )
        assert isinstance(result, Step) and len(result.observation) == 100_000 and result.info == {"n": 3_000_000}

    async def test_printing_goes_nowhere(self, sandbox: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
        source = step_of("import sys\nprint('x' * 100_000)\nsys.stderr.write('y')\nreturn 'a', 0, False, False, {}")
        assert await outcome(sandbox, source) == Step("a")
        assert capfd.readouterr() == ("", "")

    async def test_twenty_sessions_at_once(self, sandbox: Sandbox) -> None:
        async def play(seed: int) -> tuple[str, float]:
            session = await sandbox.open(GAME, LIMITS)
            start = await session.reset(seed)
            end = await session.step(await session.call("solution"))
            await session.close()
            return start.observation, end.reward

        results = await asyncio.gather(*(play(seed % 5) for seed in range(20)))
        assert len(set(results[:5])) == 5 and results == results[:5] * 4
        assert all(math.isclose(reward, 1.0) for _, reward in results)

    async def test_a_call_given_up_kills_the_instance(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(step_of("while True: pass"), LIMITS)
        await session.reset(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.step(""), 0.05)
        with pytest.raises(SandboxError):
            await session.step("")

    async def test_two_calls_at_once_are_refused(self, sandbox: Sandbox) -> None:
        session = await sandbox.open(GAME, LIMITS)
        first = asyncio.ensure_future(session.reset(1))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one call at a time"):
            await session.reset(1)
        assert (await first).observation
