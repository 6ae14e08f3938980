"""Every Sandbox of the house passes the one conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from sandbox_conformance import LIMITS, SandboxConformance, outcome, step_of

from spadework.envs.sandbox.base import Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import ProgramError


class TestProcessSandbox(SandboxConformance):
    @pytest_asyncio.fixture
    async def sandbox(self) -> AsyncIterator[Sandbox]:
        async with ProcessSandbox() as sandbox:
            yield sandbox


@pytest.mark.asyncio(loop_scope="class")
class TestForkServer(SandboxConformance):
    @pytest_asyncio.fixture(loop_scope="class", scope="class")
    async def sandbox(self) -> AsyncIterator[Sandbox]:
        async with ForkServer() as sandbox:
            yield sandbox


@pytest.mark.asyncio(loop_scope="class")
class TestForkServerWithoutTemplates(SandboxConformance):
    @pytest_asyncio.fixture(loop_scope="class", scope="class")
    async def sandbox(self) -> AsyncIterator[Sandbox]:
        async with ForkServer(without=["templates"]) as sandbox:
            yield sandbox


async def test_both_give_the_same_bytes() -> None:
    """What a seed leads to does not depend on how the child was born."""
    body = """
    import secrets, time, uuid
    parts = [random.random(), random.Random().random(), np.random.rand(), time.time(), uuid.uuid4(), secrets.token_hex(8)]
    return repr(parts), 0, False, False, {"hash": hash("text")}
    """
    outcomes = []
    for sandbox in (
        ProcessSandbox(),
        ForkServer(PoolLimits(zygotes=1)),
        ForkServer(PoolLimits(zygotes=1), without=["templates"]),
    ):
        async with sandbox:
            outcomes.append(await outcome(sandbox, step_of(body)))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ((8, 9, 8, 8, 0), "no fault"),
        ((8, 8, 8, 8, 8, 8), "ENV208"),  # an episode of three steps where two were asked for
        ((8, 9, 8, 0), "ENV208"),
        ((8, 9, 0), "ENV208"),
        ((8, 12, 8, 8, 0), "ENV208"),
        ((8, 9, 8, 8, 8, 0), "ENV208"),
        ((8, 9, 8, 8, 0, 0), "ENV208"),
    ],
)
async def test_no_other_replies_than_resets_and_steps(flags: tuple[int, ...], code: str) -> None:
    told = b'{"info": {}, "tools": [], "max_turns": 3}'
    frames = f"b''.join(struct.pack('<IIBdI', {len(told) + 1}, 1, flag, 0.0, 1) + b'x' + {told!r} for flag in {flags})"
    source = step_of("pass", f"os.write(3, {frames})\nwhile True: pass", head="import os, struct\n")
    async with ForkServer() as sandbox:
        session = await sandbox.open(source, LIMITS)
        try:
            episodes = await session.play([(1, ["a", "b"]), (2, ["a", "b"])])
            assert [len(episode) for episode in episodes] == [2, 3]
        except ProgramError as error:
            assert error.fault.code == code
        else:
            assert code == "no fault"
