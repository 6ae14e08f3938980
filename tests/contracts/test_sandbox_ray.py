"""The Ray sandbox passes the conformance suite on two actors, and survives the death of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from sandbox_conformance import GAME, LIMITS, SandboxConformance

from spadework.envs.forkserver.client import PoolLimits
from spadework.envs.ray_sandbox import NodeServer, Order, RaySandbox
from spadework.envs.sandbox import Sandbox, Step
from spadework.errors import FaultError, SandboxError
from spadework.types import Fault

try:
    import ray
except ImportError:
    ray = None

needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed (the ray extra)")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


async def test_a_node_takes_orders_in_batches() -> None:
    """The actor's own part, without Ray."""
    server = NodeServer(PoolLimits(zygotes=1))
    await server.submit([Order(1, 1, "open", (GAME, LIMITS)), Order(2, 2, "open", ("x = 1", LIMITS))])
    answers = {}
    while len(answers) < 2:
        answers.update(await server.collect())
    assert answers[1] == 7 and isinstance(answers[2], Fault) and answers[2].code == "ENV002"
    await server.submit([Order(3, 1, "reset", (1,))])
    ((_, (step, turns, tools)),) = await server.collect()
    assert isinstance(step, Step) and turns == 7 and tools == ()
    await server.close()


@needs_ray
@pytest.mark.usefixtures("cluster")
@pytest.mark.asyncio(loop_scope="class")
class TestRaySandbox(SandboxConformance):
    @pytest_asyncio.fixture(loop_scope="class", scope="class")
    async def sandbox(self) -> AsyncIterator[Sandbox]:
        async with RaySandbox(actors=2, pool=PoolLimits(zygotes=1)) as sandbox:
            yield sandbox


@needs_ray
@pytest.mark.usefixtures("cluster")
async def test_a_dead_actor_gives_typed_faults_and_is_replaced() -> None:
    async with RaySandbox(actors=2, pool=PoolLimits(zygotes=1)) as sandbox:
        sessions = [await sandbox.open(GAME, LIMITS) for _ in range(4)]
        await asyncio.gather(*(session.reset(1) for session in sessions))
        ray.kill(sandbox._nodes[0].actor)
        outcomes = await asyncio.gather(*(session.step("x") for session in sessions), return_exceptions=True)
        assert sum(isinstance(outcome, SandboxError) for outcome in outcomes) == 2
        assert sum(isinstance(outcome, Step) for outcome in outcomes) == 2
        again = await asyncio.gather(*(sandbox.open(GAME, LIMITS) for _ in range(4)))
        assert not any(
            isinstance(outcome, FaultError) for outcome in await asyncio.gather(*(s.reset(1) for s in again))
        )


@needs_ray
@pytest.mark.usefixtures("cluster")
async def test_one_fork_server_a_node_by_default() -> None:
    async with RaySandbox(pool=PoolLimits(zygotes=1)) as sandbox:
        assert len(sandbox._places) == len([node for node in ray.nodes() if node["Alive"]])
        session = await sandbox.open(GAME, LIMITS)
        assert (await session.reset(1)).observation
        await session.close()
