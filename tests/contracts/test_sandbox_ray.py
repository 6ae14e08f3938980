"""The Ray sandbox passes the conformance suite on two actors, and survives the death of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from sandbox_conformance import GAME, LIMITS, SandboxConformance
from tests.runs import cli, story

from spadework.envs.sandbox.base import Sandbox, Step
from spadework.envs.sandbox.forkserver.client import PoolLimits
from spadework.envs.sandbox.ray import NodeServer, Order, RaySandbox
from spadework.errors import FaultError, SandboxError
from spadework.types import Fault

try:
    import ray
    import ray.cluster_utils
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


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[str]:
    """The address of a cluster of two nodes, which are two raylets of this machine."""
    if ray.is_initialized():
        ray.shutdown()
    nodes = ray.cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    yield nodes.address
    ray.shutdown()
    nodes.shutdown()


@needs_ray
@pytest.mark.slow
async def test_sessions_are_shared_out_over_two_nodes(two_nodes: str) -> None:
    async with RaySandbox(two_nodes, pool=PoolLimits(zygotes=1)) as sandbox:
        assert len(set(sandbox._places)) == 2
        sessions = [await sandbox.open(GAME, LIMITS) for _ in range(6)]
        steps = await asyncio.gather(*(session.reset(1) for session in sessions))
        assert len({step.observation for step in steps}) == 1
        assert [node.live for node in sandbox._nodes if node] == [3, 3]
        where = [
            node.actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
            for node in sandbox._nodes
            if node
        ]
        assert set(await asyncio.gather(*where)) == set(sandbox._places)
        await asyncio.gather(*(session.close() for session in sessions))


@needs_ray
@pytest.mark.slow
def test_a_run_on_two_nodes_equals_one_on_this_machine(two_nodes: str, tmp_path: Path) -> None:
    common = ["train", "scripted", "--set", "run.cycles=2"]
    here = cli(*common, "--run", tmp_path / "here")
    there = cli(
        *common, "--run", tmp_path / "there", "--set", "sandbox.type=ray", "--set", f"sandbox.ray_address={two_nodes}"
    )
    assert here.returncode == 0, here.stderr
    assert there.returncode == 0, there.stderr
    assert story(tmp_path / "there") == story(tmp_path / "here")
