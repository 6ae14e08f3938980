"""Fixtures that several suites share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from spadework.envs.sandbox.process import ProcessSandbox
from spadework.resources import shipped

# A busy machine is no fault of the code: what has to be fast is timed by tests of its own, as ratios.
settings.register_profile("spadework", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("spadework")

GAMES = shipped("examples") / "environments" / "games"


@pytest.fixture
def game() -> str:
    """A single-turn program."""
    return (GAMES / "division_with_remainder.py").read_text()


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[ProcessSandbox]:
    """The reference sandbox."""
    async with ProcessSandbox() as box:
        yield box


@pytest.fixture(autouse=True)
def cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A cache folder of the test's own, except where a test wants the user's (models take long to rebuild)."""
    folder = tmp_path_factory.mktemp("cache")
    if "user_cache" not in request.fixturenames:
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def user_cache() -> None:
    """Marks a test that uses the user's own cache."""
