"""One blow of each kind; ``benchmarks/chaos.py`` deals hundreds."""

from __future__ import annotations

import pytest

from tests.chaos.blows import BLOWS, Blow
from tests.chaos.driver import Chaos


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Chaos:
    return Chaos(tmp_path_factory.mktemp("chaos"))


@pytest.mark.slow
@pytest.mark.parametrize("blow", BLOWS, ids=lambda blow: blow.name)
def test_nothing_is_lost(chaos: Chaos, blow: Blow) -> None:
    struck = chaos.strike(blow, BLOWS.index(blow))
    assert struck.good, struck
