"""Database worlds: the bundled ones won by their plans alone, the broken ones named, and what a task may ask."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tests.viewers import viewing

from spadework.cli import main
from spadework.config.files import load_config
from spadework.domains.database import DATABASE, PAID_STEPS
from spadework.domains.database_checks import CODES, spliced_sql
from spadework.domains.database_tasks import VARIANTS
from spadework.envs.check.program import Checked, check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.check.syntax import Program
from spadework.envs.domain import Change
from spadework.envs.registry import find_domain, recognise, recognise_text
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.envs.tool_calls import render_call
from spadework.envs.tool_env import SqliteToolEnv
from spadework.resources import shipped
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes
from spadework.selfplay.design.examples import load_examples
from spadework.selfplay.pool.files import read_pool
from spadework.text import parse_python

ENVIRONMENTS = Path(shipped("examples") / "environments")
FOLDER, BROKEN = ENVIRONMENTS / "database", ENVIRONMENTS / "broken" / "database"
SOURCES = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.py"))}
SMALL = {example.name for example in load_examples(DATABASE) if example.level == "trivial"}
FULL = sorted(set(SOURCES) - SMALL)
DONE = "<answer>done</answer>"


def opened(name: str, seed: int) -> Any:
    """The world of a bundled program, in this process and reset."""
    names: dict[str, Any] = {"SqliteToolEnv": SqliteToolEnv, "__name__": name}
    exec(SOURCES[name], names)
    env = next(value for key, value in names.items() if key.endswith("Env") and value is not SqliteToolEnv)()
    env.reset(seed=seed)
    return env


def served(name: str, seed: int) -> Any:
    """The same after all of its plan."""
    env = opened(name, seed)
    for tool, arguments in env._plan[0]:
        env.step(render_call(tool, arguments))
    return env


def test_there_are_twelve_worlds_of_full_size() -> None:
    assert len(FULL) == 12
    for name in FULL:
        env = opened(name, 0)
        tables = env._dump()
        assert len(tables) >= 4 and sum(map(len, tables.values())) >= 50, name
        assert len(env.get_tools()) >= 5 and len(env._plan[0]) >= 4, name
    assert {example.task.variant for example in load_examples(DATABASE) if example.task} == set(VARIANTS)


@pytest.mark.parametrize("name", FULL)
def test_the_plan_wins_and_nothing_or_half_of_it_does_not(name: str) -> None:
    for seed in range(5):
        assert served(name, seed).step(DONE)[1:3] == (1.0, True)
        assert opened(name, seed).step(DONE)[1] == 0.0
        half = opened(name, seed)
        for tool, arguments in half._plan[0][:-1]:
            half.step(render_call(tool, arguments))
        assert half.step(DONE)[1] < 1.0


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_right_end_with_one_row_more_touched_is_punished(name: str) -> None:
    env = served(name, 1)
    for table, rows in env._dump().items():
        spared = [row for row in rows if row in env._before[table]]
        if spared and isinstance(spared[0][0], int):
            column = env.query(f"PRAGMA table_info({table})")[0]["name"]
            env._state.execute(f"DELETE FROM {table} WHERE {column} = ?", (spared[0][0],))
            break
    reward = env.step(DONE)[1]
    assert reward == (-0.5 if name in FULL else 0.0)


def test_a_wrong_value_in_the_right_row_is_a_miss_and_no_side_effect() -> None:
    env = opened("tool_hire", 3)
    for tool, arguments in env._plan[0]:
        wrong = {**arguments, "amount": 1} if tool == "bill" else arguments
        env.step(render_call(tool, wrong))
    assert 0 < env.step(DONE)[1] < 1


def test_steps_are_paid_where_the_world_says_so() -> None:
    name, arguments = (env := opened("housing_office", 0))._plan[0][0]
    assert env.step(render_call(name, arguments))[1] == 0.01
    assert "format_reward = 0.01" in PAID_STEPS.briefing.draw_task(1).places["steps"]  # type: ignore[union-attr]
    assert find_domain("spadework.domains.database:PAID_STEPS").checks is DATABASE.checks


def test_worlds_are_told_from_tool_use_by_the_difference_that_they_declare() -> None:
    loans = (ENVIRONMENTS / "tool_use" / "library_loans.py").read_text()
    assert recognise(loans).name == recognise_text(loans).name == "tool_use"
    for source in SOURCES.values():
        assert recognise(source).name == recognise_text(source).name == "database"


def test_variants_are_all_drawn_and_an_unknown_one_is_refused() -> None:
    drawn = {DATABASE.briefing.draw_task(random.Random(n).randrange(10**9)).variant for n in range(80)}  # type: ignore[union-attr]
    assert drawn == set(VARIANTS)
    with pytest.raises(ValueError, match="there is no variant 'odd'; there are explicit, "):
        DATABASE.briefing.example_task("odd", "x")


@pytest.mark.parametrize(
    "query",
    [
        "self.query(f\"SELECT * FROM pets WHERE name = '{name}'\")",
        'self._state.execute("DELETE FROM pets WHERE name = " + name)',
        "self._one(\"SELECT * FROM pets WHERE name = '{}'\".format(name))",
    ],
)
def test_sql_spliced_from_what_the_player_says_is_found(query: str) -> None:
    found = spliced_sql(
        Program(parse_python(f"class PetEnv(SqliteToolEnv):\n    def tool_find(self, name):\n        {query}\n"))
    )
    assert [finding.code for finding in found] == ["DB003"]


def test_no_bundled_world_splices_sql() -> None:
    for source in SOURCES.values():
        assert list(spliced_sql(Program(parse_python(source)))) == []


def test_rows_are_shown_by_their_keys() -> None:
    before, after = {"pets": {"7": {"name": "Ash"}}}, {"pets": {"7": {"name": "Bo"}, "8": {"name": "Cy"}}}
    assert DATABASE.display.difference(before, after) == [
        Change("pets/7/name", "Ash", "Bo"),
        Change("pets/8", None, {"name": "Cy"}),
    ]


def test_the_page_lists_every_code_of_databases() -> None:
    page = (Path(__file__).parents[3] / "docs" / "environments.md").read_text()
    rows = [f"| {code} | {entry.severity} | {entry.title} |" for code, entry in sorted(CODES.items())]
    assert re.findall(r"^\| DB\d+ .*$", page, flags=re.MULTILINE) == rows


@pytest.mark.parametrize("name", ["database-scripted", "database-laptop", "database-4b", "database-30b"])
def test_its_configs_are_valid(name: str) -> None:
    assert load_config(name).domain == "database"


def test_every_broken_world_differs_from_its_twin_in_a_few_lines() -> None:
    assert {path.name.split("_")[0] for path in BROKEN.glob("*.py")} == set(CODES)
    for path in BROKEN.glob("*.py"):
        twin = SOURCES[path.stem.partition("_")[2]].splitlines()
        assert 0 < len(set(path.read_text().splitlines()) ^ set(twin)) <= 12, path.name


def checked(folder: Path) -> dict[str, Checked]:
    async def all_of_it() -> dict[str, Checked]:
        async with ForkServer() as sandbox:

            async def work(entry: Any) -> Checked:
                environment = entry.environment
                return await check_program(sandbox, environment.source, RuntimeChecks(), hint=environment.hint)

            return {entry.name: found async for entry, found in in_order(read_pool(folder), work, 2)}

    return asyncio.run(all_of_it())


@pytest.mark.slow
def test_bundled_worlds_are_clean_and_every_player_but_the_oracle_loses() -> None:
    for name, one in checked(FOLDER).items():
        full = Path(name).stem in FULL
        assert [finding.code for finding in one.findings] == ([] if full else ["DB002"]), name
        assert one.domain == "database"
        rates = dict(one.statistics.win_rates)
        assert rates.pop("oracle") == 1.0 and set(rates.values()) == {0.0}, name
        assert not full or {"no-op", "random calls", "over-eager"} <= set(rates), name


@pytest.mark.slow
def test_broken_worlds_are_named() -> None:
    for name, one in checked(BROKEN).items():
        assert name.split("_")[0] in {finding.code for finding in one.findings}, name


@pytest.mark.slow
def test_a_scripted_run_shows_the_difference_of_each_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    quick = ("run.cycles=1", "designer.environments=1", "validation.seeds=2", "play.episodes=2")
    assert main(["train", "database-scripted", "--run", run, *(a for s in quick for a in ("--set", s))]) == 0
    capsys.readouterr()
    store = RunStore.read(Path(run))
    episodes = [episode for path in store.episode_files() for episode in read_episodes(path)]
    store.close()
    moved = next(each for each in episodes if any('"move_parcel"' in turn.reply for turn in each.turns))
    assert main(["replay", run, moved.id, "--states"]) == 0
    assert re.search(r"parcels/\d+/locker", capsys.readouterr().out)
    with viewing(Path(run)) as viewer:
        steps = viewer.post("watch", run=0, id=moved.id)["steps"]
    changed = [change["where"] for step in steps for change in step["changes"]]
    assert any(re.fullmatch(r"parcels/\d+/locker", where) for where in changed)
