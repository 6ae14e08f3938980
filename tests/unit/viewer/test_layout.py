"""The process that lays out maps, for real."""

from __future__ import annotations

import multiprocessing

import pytest

from spadework.analysis.maps import PCA, TFIDF
from spadework.errors import SpadeworkError
from spadework.viewer.layout import Layouts, layout

PROGRAMS = {f"env{number}": f"add {number} and {number + 1}" for number in range(6)}


async def test_a_map_comes_from_a_process_that_may_die() -> None:
    layouts = Layouts()
    try:
        assert await layouts.ask(PROGRAMS, TFIDF, PCA) == layout(PROGRAMS, TFIDF, PCA)
        (process,) = multiprocessing.active_children()
        process.kill()
        process.join()
        with pytest.raises(SpadeworkError, match="ask again"):
            await layouts.ask(PROGRAMS, TFIDF, PCA)
        found = await layouts.ask(PROGRAMS, TFIDF, PCA)
        assert set(found["points"]) == set(PROGRAMS) and (found["kind"], found["way"]) == (TFIDF, PCA)
    finally:
        layouts.close()
    assert multiprocessing.active_children() == []


def test_of_no_environment_there_is_a_map_too() -> None:
    assert layout({}, TFIDF, PCA)["points"] == {}
