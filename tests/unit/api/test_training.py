"""Training, collecting and designing from Python, and reading what a run left."""

from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys

import pytest
from tests.documents import ROOT, run_page

import spadework

SMALL = {"extends": "scripted", "run": {"cycles": 2}}
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
assert EXAMPLES


class Watching(spadework.NullObserver):
    def __init__(self):
        self.stages, self.cycles = [], []

    def stage(self, cycle, name, total, done=0):
        self.stages.append((cycle, name))

    def cycle_done(self, cycle, metrics):
        self.cycles.append(cycle)


INTERRUPTED = """
import os, signal, sys, spadework


class Interrupts(spadework.NullObserver):
    def cycle_done(self, cycle, metrics):
        if cycle == 1:
            os.kill(os.getpid(), signal.SIGINT)


signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell may ignore it
try:
    spadework.train(spadework.read_config("scripted", {"run.cycles": 50, "run.checkpoint_minutes": 0}), sys.argv[1], Interrupts())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return spadework.train(SMALL, tmp_path_factory.mktemp("runs") / "small")


def test_a_run_is_trained_watched_and_gone_on_with(tmp_path):
    watching = Watching()
    run = spadework.train(SMALL, tmp_path / "run", watching)
    assert watching.cycles == [0, 1]
    assert {(0, "play"), (1, "play"), (1, "update")} <= set(watching.stages)
    assert run.path == tmp_path / "run"
    with pytest.raises(spadework.RunError, match="resume=True"):
        spadework.train(SMALL, tmp_path / "run")
    more = spadework.read_config(SMALL, {"run.cycles": 3})
    spadework.train(more, tmp_path / "run", watching, resume=True, change_config=True)
    assert watching.cycles == [0, 1, 2]
    spadework.train(None, tmp_path / "run", watching, resume=True)
    assert watching.cycles == [0, 1, 2]


def test_ctrl_c_stops_a_run_that_can_be_gone_on_with(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    stopped = spadework.open_run(tmp_path / "run")
    committed = len(stopped.metrics["agent/unhinted_win_rate"])
    assert 2 <= committed < 50
    watching = Watching()
    more = spadework.read_config(stopped.config, {"run.cycles": committed + 1})
    spadework.train(more, stopped.path, watching, resume=True, change_config=True)
    assert watching.cycles == [committed]


async def test_training_can_be_awaited(tmp_path):
    run = await spadework.train_async(SMALL, tmp_path / "run")
    assert sorted(run.checkpoints) == [0, 1]


def test_wrong_arguments_name_the_way_out(tmp_path):
    with pytest.raises(spadework.ConfigError, match="resume=True"):
        spadework.train(None, tmp_path / "run")
    with pytest.raises(spadework.RunError, match="no run directory"):
        spadework.train(None, tmp_path / "run", resume=True)
    with pytest.raises(spadework.RunError, match="no run directory"):
        spadework.open_run(tmp_path)
    with pytest.raises(spadework.ConfigError, match="endpoint"):
        spadework.train({"model": {"name": "openai:x"}}, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_cycle_is_collected_as_the_run_collects_it(run):
    collected = spadework.collect(SMALL)
    assert collected.sequences == run.rows(0)
    assert [one.source for one in collected.record.environments] == [
        one.source for one in run.environments() if one.cycle == 0
    ]


def test_a_policy_of_ones_own_collects():
    from spadework.domains.games_demo import demo_script
    from spadework.testing.scripted import ScriptedPolicy

    policy = ScriptedPolicy(demo_script)
    assert spadework.collect(SMALL, policy).sequences == spadework.collect(SMALL).sequences


def test_the_designer_works_alone(tmp_path):
    watching = Watching()
    slots = spadework.design("scripted", n=3, observer=watching)
    accepted = [slot.environment for slot in slots if slot.environment is not None]
    assert (len(slots), watching.stages) == (3, [(None, "design")])
    assert accepted
    assert all(slot.designs[-1].accepted == (slot.environment is not None) for slot in slots)
    spadework.write_pool(tmp_path / "pool.parquet", accepted)
    assert set(spadework.load_pool(tmp_path / "pool.parquet")) == set(accepted)
    with pytest.raises(spadework.ConfigError, match=r"designer\.environments"):
        spadework.design(spadework.read_config("scripted", {"designer.environments": 0}))


def test_a_run_is_read_as_records(run):
    assert run.config.run.cycles == 2
    assert [cycle for cycle, _ in run.metrics["agent/unhinted_win_rate"]] == [0, 1]
    episodes = list(run.episodes())
    assert {episode.cycle for episode in episodes} == {0, 1}
    assert [one.id for one in run.episodes(cycle=1)] == [one.id for one in episodes if one.cycle == 1]
    assert {one.environment_id for one in episodes} <= {one.id for one in run.environments()}
    assert all(design.prompt for design in run.designs())
    with pytest.raises(spadework.RunError, match="no cycle 7"):
        run.rows(7)
    with pytest.raises(spadework.RunError, match="no cycle 7"):
        next(run.episodes(7))


def test_a_run_is_read_as_tables(run):
    sizes = {name: run.table(name).num_rows for name in ("environments", "episodes", "designs", "plays", "metrics")}
    assert sizes["episodes"] == len(list(run.episodes()))
    assert sizes["designs"] == len(run.designs())
    assert sizes["metrics"] == 2
    measured = run.table("metrics").to_pylist()
    assert [(row["cycle"], row["agent/unhinted_win_rate"]) for row in measured] == list(
        run.metrics["agent/unhinted_win_rate"]
    )
    assert {run.table(name).num_rows > 0 for name in ("regrets", "scores")} == {True}
    with pytest.raises(spadework.ConfigError, match="no table 'nothing'; it has environments, "):
        run.table("nothing")


def test_a_table_is_a_pandas_frame_where_pandas_is_installed(run):
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(spadework.ConfigError, match="pip install pandas"):
            run.frame("metrics")
    else:
        assert list(run.frame("metrics")["cycle"]) == [0, 1]


def test_a_config_is_read_from_every_form(tmp_path):
    text = 'extends = "scripted"\n[run]\ncycles = 7\n'
    (tmp_path / "mine.toml").write_text("[run]\ncycles = 7\n")
    read = spadework.read_config(text)
    assert (read.run.cycles, read.model.name) == (7, "scripted")
    assert spadework.read_config({"extends": "scripted", "run": {"cycles": 7}}) == read
    assert spadework.read_config("scripted", {"run.cycles": 7}) == read
    assert spadework.read_config(read) == read
    plain = spadework.read_config(tmp_path / "mine.toml")
    assert spadework.read_config(str(tmp_path / "mine.toml")) == plain
    assert plain.run.cycles == 7


@pytest.mark.parametrize("base", ["scripted", 'extends = "scripted"', {"extends": "scripted"}])
def test_a_config_has_the_skills_of_its_domain_whatever_it_was_read_from(base):
    config = spadework.read_config(base, {"domain": "tool_use"})
    assert config.designer.skills[0] == "API Orchestration"
    assert spadework.read_config(spadework.RunConfig()).designer.skills[0] == "Mathematical Reasoning"


@pytest.mark.parametrize(
    ("config", "settings", "told"),
    [
        ("nosuch", None, "no shipped config of that name"),
        ("[run]\ncyles = 3", None, "the config's TOML: run.cyles: no such key; the nearest valid key is run.cycles"),
        ("[run\n", None, "not valid"),
        ({"run": {"cycles": "many"}}, None, "the config's dict: run.cycles"),
        ("scripted", {"run.cyles": 3}, "settings: run.cyles: no such key; the nearest valid key is run.cycles"),
    ],
)
def test_what_is_wrong_with_a_config_is_told_with_its_place(config, settings, told):
    with pytest.raises(spadework.ConfigError) as caught:
        spadework.read_config(config, settings)
    assert told in str(caught.value)


def test_the_page_on_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = run_page("python.md")
    assert page["run"].path.name == "first"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
