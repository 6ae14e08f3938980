"""The timeline's bars: one cycle a cell, lanes without overlap, and counts that agree with the bars."""

from __future__ import annotations

import pytest

pytest.importorskip("duckdb", reason="needs the extra viewer")

from tests.viewers import train

from spadework.viewer.records import RunView
from spadework.viewer.timeline import timeline


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return RunView(train(tmp_path_factory.mktemp("runs") / "run", "run.cycles=4"))


def test_bars_do_not_overlap_and_counts_agree(run: RunView) -> None:
    shown = timeline(run, None, None)
    assert (shown["first"], shown["last"], shown["cycles"]) == (0, 3, 4)
    taken: set[tuple[int, int]] = set()
    for bar in shown["environments"]:
        places = {(bar["lane"], cycle) for cycle in range(bar["cells"][0][0], bar["cells"][-1][0] + 1)}
        assert not taken & places
        taken |= places
        assert bar["lane"] < shown["lanes"] and bar["name"].endswith("Env")
        assert (bar["end"] == "") == (bar["state"] == "in pool")
    for count in shown["counts"]:
        played = [cell for bar in shown["environments"] for cell in bar["cells"] if cell[0] == count["cycle"]]
        assert count["played"] == len(played)
        assert count["learnable"] == sum(0.2 <= cell[1] <= 0.8 for cell in played)


def test_a_window_shows_its_cycles_alone(run: RunView) -> None:
    shown = timeline(run, 1, 2)
    assert {cell[0] for bar in shown["environments"] for cell in bar["cells"]} == {1, 2}
    assert timeline(run, 0, 99)["last"] == 3
