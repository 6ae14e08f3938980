"""Environments of packages, in their worker processes: the same problem anywhere, and typed faults."""

import asyncio
import importlib.util
import os
import signal
import sys
import time

import pytest
import pytest_asyncio

from spadework.envs.levels import Levels, levels
from spadework.envs.sandbox import worker_process
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.packaged import names, worker
from spadework.envs.sandbox.packaged import sandbox as packaged
from spadework.envs.sandbox.packaged.names import RLVE_16, Named, entries, parse_named
from spadework.envs.sandbox.packaged.sandbox import PackagedSandbox
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.envs.sandbox.workers import worker_environment
from spadework.errors import ConfigError, ProgramError, SandboxError

rlve = pytest.mark.skipif(importlib.util.find_spec("Gym") is None, reason="needs rlve-gym, of the extra baselines")
reasoning = pytest.mark.skipif(
    importlib.util.find_spec("reasoning_gym") is None, reason="needs reasoning-gym, of the extra baselines"
)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def workers():
    made = PackagedSandbox(ProcessSandbox(), workers=2)
    yield made
    await made.close()


async def problem(workers, source, seed):
    session = await workers.open(source, Limits())
    step = await session.reset(seed)
    return session, step.observation, await session.call("solution")


async def test_names():
    assert parse_named("rlve:Sorting?difficulty=3") == Named("rlve", "Sorting", 3)
    assert str(Named("reasoning-gym", "chain_sum")) == "reasoning-gym:chain_sum"
    assert parse_named("class AEnv: ...") is parse_named("rlve:a b") is parse_named("other:Sorting") is None


@rlve
async def test_generate_and_answer(workers):
    session, question, answer = await problem(workers, "rlve:Multiplication", 5)
    assert question.strip() and session.max_turns == 1 and not session.tools
    assert (await session.step(f"\\boxed{{{answer}}}")).reward == 1.0
    wrong = await session.step(f"\\boxed{{{int(answer) + 1}}}")
    assert (wrong.reward, wrong.terminated) == (0.0, True)
    for nonsense in ("", "\\boxed{</answer>}", "\\boxed{Assistant: \x03}"):
        assert (await session.step(nonsense)).reward == 0.0


@rlve
async def test_levels_are_harder(workers):
    easy, hard = [await problem(workers, f"rlve:Multiplication?difficulty={level}", 5) for level in (0, 8)]
    assert int(hard[2]) > 10**6 * int(easy[2])
    assert levels("rlve:Multiplication") == Levels(0, None)


@rlve
async def test_a_problem_is_the_same_in_another_process(workers):
    others = PackagedSandbox(ProcessSandbox(), workers=1)
    try:
        for name in ("Sorting", "SAT", "HamiltonianPath", "WYRLevelingGround"):
            one, two = [await problem(box, f"rlve:{name}?difficulty=3", 11) for box in (workers, others)]
            assert one[1:] == two[1:]
            assert one[1] != (await problem(workers, f"rlve:{name}?difficulty=3", 12))[1]
    finally:
        await others.close()


@rlve
async def test_a_worker_that_dies_is_replaced_and_nobody_notices(workers):
    session, _, answer = await problem(workers, "rlve:Sorting", 1)
    os.kill(workers.pool("rlve").pid("rlve:Sorting#1"), signal.SIGKILL)
    with pytest.raises(SandboxError, match="killed from outside"):
        await session.step("\\boxed{1}")
    assert (await session.step(f"\\boxed{{{answer}}}")).reward == 1.0


@rlve
async def test_faults_are_typed(workers):
    session = await workers.open("rlve:NoSuchName", Limits())
    with pytest.raises(ProgramError, match=r"ENV201: .*NoSuchName"):
        await session.reset(0)
    with pytest.raises(ProgramError, match="ENV204"):
        await session.call("get_state")
    fresh = await workers.open("rlve:Sorting", Limits(max_observation=10))
    with pytest.raises(ProgramError, match="before reset"):
        await fresh.step("\\boxed{1}")
    with pytest.raises(ProgramError, match="ENV207"):
        await fresh.reset(0)


@rlve
async def test_a_call_that_overruns_hangs_and_the_next_one_works(workers):
    session, _, answer = await problem(workers, "rlve:Sorting", 2)
    hasty = await workers.open("rlve:Sorting?difficulty=20", Limits(wall_seconds=1e-5))
    with pytest.raises(ProgramError, match="ENV205"):
        await hasty.reset(2)
    patient = await workers.open("rlve:Sorting?difficulty=20", Limits())
    with pytest.raises(ProgramError, match="ENV205"):  # known to hang: nobody waits for it again
        await patient.reset(2)
    assert (await session.step(f"\\boxed{{{answer}}}")).reward == 1.0


@rlve
async def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(packaged, "MEMORY_MB", 1)
    small = PackagedSandbox(ProcessSandbox(), workers=1)
    session = await small.open("rlve:Sorting?difficulty=60", Limits())
    try:
        with pytest.raises(ProgramError, match="ENV206: out of memory"):
            for seed in range(400):
                await session.reset(seed)
    finally:
        await small.close()


@rlve
async def test_a_cancelled_call_leaves_no_reply_behind(workers):
    session, question, _ = await problem(workers, "rlve:Sorting", 3)
    task = asyncio.create_task(session.reset(3))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await session.reset(3)).observation == question
    others = PackagedSandbox(ProcessSandbox(), workers=1)
    try:
        session = await others.open("rlve:Sorting", Limits())
        task = asyncio.create_task(session.reset(3))
        while others.pool("rlve").pid("rlve:Sorting#3") is None:
            await asyncio.sleep(0.01)
        task.cancel()  # while it starts
        await asyncio.gather(task, return_exceptions=True)
        assert (await session.reset(3)).observation == question
    finally:
        await others.close()


class _Gullible:
    """Judges as some packages do: by running what it is told."""

    question = "?"

    def judge(self, answer):
        return float(eval(answer))

    def solution(self):
        return None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the confinement is made of Linux's own")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("__import__('os').fork()", "RAISED"),
        ("len(open('/etc/passwd').read())", "RAISED"),
        ("__import__('os')._exit(0)", "DIED"),
        ("__import__('os').close(3) or __import__('time').sleep(30)", "DIED"),
        ("sum(1 for _ in iter(int, 1))", "HANG"),
    ],
)
async def test_an_answer_that_is_run_as_code_gets_nowhere(monkeypatch, answer, code):
    monkeypatch.setattr(worker_process, "CPU_SECONDS", 0.3)
    assert worker._judge(_Gullible(), "0.25 + 0.5") == 0.75
    began = time.monotonic()
    with pytest.raises(worker.JudgementError) as stopped:
        worker._judge(_Gullible(), answer)
    assert stopped.value.args[0] == code
    assert time.monotonic() - began < 20


@rlve
async def test_programs_still_run_beside(workers, game):
    session = await workers.open(game, Limits())
    assert (await session.reset(0)).observation
    await session.close()


async def test_a_worker_knows_no_keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    asked = "import os; print('OPENAI_API_KEY' in os.environ, os.environ['PATH'])"
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", asked, env=worker_environment(), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await worker.communicate()
    assert out.decode() == f"False {os.environ['PATH']}\n"


async def test_a_missing_package_names_the_extra(workers, monkeypatch):
    monkeypatch.setitem(names.PACKAGES, "rlve", "no_such_module")
    with pytest.raises(ConfigError, match=r"spadework\[baselines\]"):
        await workers.open("rlve:Sorting", Limits())
    with pytest.raises(ConfigError, match="baselines"):
        entries.__wrapped__("rlve")


async def test_a_package_that_does_not_load_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(names, "require", lambda package: None)
    monkeypatch.setattr(names, "LIST_SECONDS", 0.2)
    monkeypatch.setattr(names, "worker_command", lambda *_: [sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(ConfigError, match="not listed within"):
        entries.__wrapped__("rlve")


@rlve
async def test_all_four_hundred_load(workers):
    known = entries("rlve")
    assert len(known) == 400
    assert set(RLVE_16) <= {entry.name for entry in known}
    lost = []

    async def one(name):
        session, question, answer = await problem(workers, f"rlve:{name}", 0)
        assert question.strip()
        if answer is not None and (await session.step(f"\\boxed{{{answer}}}")).reward < 1.0:
            lost.append(name)

    await asyncio.gather(*(one(entry.name) for entry in known))
    assert lost == ["PolyaModel"]  # its judge reads the whole reply, marks and all: nothing wins


@reasoning
async def test_reasoning_gym(workers):
    for name in ("chain_sum", "basic_arithmetic", "caesar_cipher", "number_sorting"):
        session, question, answer = await problem(workers, f"reasoning-gym:{name}", 7)
        assert question == (await problem(workers, f"reasoning-gym:{name}", 7))[1]
        assert (await session.step(f"\\boxed{{{answer}}}")).reward == 1.0
        assert (await session.step("\\boxed{not it}")).reward < 1.0
    assert levels("reasoning-gym:chain_sum").top >= 1
    assert levels("reasoning-gym:list_functions") is None
    easy, hard = [await problem(workers, f"reasoning-gym:chain_sum?difficulty={level}", 7) for level in (0, 3)]
    assert len(hard[1]) > len(easy[1])


@reasoning
async def test_an_answer_that_the_judge_cannot_read_is_wrong(workers):
    session, _, _ = await problem(workers, "reasoning-gym:prime_factorization", 0)
    assert (await session.step("\\boxed{xyz}")).reward == 0.0
