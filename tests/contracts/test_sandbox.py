"""Every Sandbox of the house passes the one conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from sandbox_conformance import SandboxConformance

from spadework.envs.forkserver.client import ForkServer
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
