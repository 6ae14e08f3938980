"""Every Sandbox of the house passes the one conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from sandbox_conformance import SandboxConformance, outcome, step_of

from spadework.envs.forkserver.client import ForkServer, PoolLimits
from spadework.envs.process_sandbox import ProcessSandbox
from spadework.envs.sandbox import Sandbox


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
