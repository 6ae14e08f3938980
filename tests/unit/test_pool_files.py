from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spadework.cli import main
from spadework.config import RunConfig
from spadework.envs.check.players import Play, oracle
from spadework.envs.registry import recognise
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.errors import ConfigError
from spadework.resources import shipped
from spadework.runs.store import RunStore
from spadework.selfplay.pool.files import import_pool, load_pool, read_pool, without_fences, write_pool

_TEXT = Path(__file__).with_name("released_programs.txt").read_text()
RELEASED = dict(zip(*[iter(re.split(r"^=== (\w+)\n", _TEXT, flags=re.MULTILINE)[1:])] * 2, strict=True))
"""Programs in the style of the released contract, with its usual sloppiness."""


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def rows():
    return [
        {
            "game_id": f"game_{index}",
            "file_name": f"{name}.py",
            "skill": "Logical Deduction",
            "sha256": sha(code),
            "code": code,
        }
        for index, (name, code) in enumerate(RELEASED.items())
    ]


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "released.parquet"
    pq.write_table(pa.Table.from_pylist(rows()), path)
    return path


def folder_of(path, entries, manifest):
    path.mkdir()
    for row in entries:
        (path / row["file_name"]).write_bytes(row["code"].encode())
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


@pytest.fixture(scope="module")
def played():
    async def play_all():
        results = {}
        async with ForkServer() as sandbox:
            for name, code in RELEASED.items():
                source = without_fences(code)
                one, other = [await sandbox.open(source, Limits()) for _ in range(2)]
                results[name] = [await oracle(one, other, seed, recognise(source), 25) for seed in range(3)]
        return results

    return asyncio.run(play_all())


def test_there_are_twenty_programs_of_both_domains():
    domains = [recognise(without_fences(code)).name for code in RELEASED.values()]
    assert len(domains) == 20
    assert domains.count("tool_use") == 8


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_program_loads_and_plays_unchanged(played, name):
    plays: list[Play] = played[name]
    assert all(play.win for play in plays)
    assert len({(play.opening, play.actions) for play in plays}) > 1


def test_parquet_is_read_with_its_provenance(parquet):
    environments = load_pool(parquet)
    assert len(environments) == 20
    first = environments[0]
    assert (first.skill, first.document_id, first.domain) == ("Logical Deduction", "game_0", "games")
    assert first.source == RELEASED["bare_string_reset"]
    assert {one.domain for one in environments} == {"games", "tool_use"}


@pytest.mark.parametrize("shape", ["list", "keyed", "by name"])
def test_a_folder_with_a_manifest_is_read_in_each_shape(tmp_path, shape):
    entries = rows()
    described = [{key: row[key] for key in ("game_id", "file_name", "skill", "sha256")} for row in entries]
    manifest = {
        "list": described,
        "keyed": {"version": 1, "games": described},
        "by name": {row["file_name"]: {"skill": row["skill"], "sha256": row["sha256"]} for row in described},
    }[shape]
    imported = import_pool(folder_of(tmp_path / "pool", entries, manifest))
    assert len(imported.environments) == 20
    assert imported.failures == ()
    assert imported.environments[3].skill == "Logical Deduction"


def test_a_stray_fence_is_taken_out_on_import_only(parquet):
    raw = next(entry for entry in read_pool(parquet) if entry.name == "stray_fence.py")
    assert raw.environment.source.startswith("```python")
    kept = next(one for one in load_pool(parquet) if "class ParityEnv" in one.source)
    assert "```" not in kept.source
    assert kept.id == kept.sha256[:12]


def test_fences_inside_of_strings_stay():
    source = 'TEXT = """\n```\ncode\n```\n"""\n'
    assert without_fences(source) == source


def test_wrong_sums_missing_files_and_duplicates_are_told(tmp_path):
    entries = rows()[:4]
    described = [{key: row[key] for key in ("game_id", "file_name", "skill", "sha256")} for row in entries]
    described[1]["sha256"] = "0" * 64
    described.append({"game_id": "gone", "file_name": "gone.py"})
    described.append({"game_id": "away", "file_name": "../away.py"})
    folder = folder_of(tmp_path / "pool", entries, described)
    (folder / "again.py").write_bytes(entries[0]["code"].encode())
    imported = import_pool(folder)
    assert len(imported.environments) == 3
    assert dict(imported.duplicates) == {"again.py": "bare_string_reset.py"}
    assert {name: why.split()[-1] for name, why in imported.failures} == {
        "positional_max_turns.py": "match",
        "gone.py": "missing",
        "../away.py": "pool",
    }


def test_ours_comes_back_as_it_was_written(tmp_path, parquet):
    before = load_pool(parquet)
    out = tmp_path / "deep" / "ours.parquet"
    write_pool(out, before)
    assert load_pool(out) == before
    assert not list(out.parent.glob(".*"))


def test_windows_line_ends_keep_their_sum(tmp_path):
    code = "class AEnv:\r\n    pass\r\n"
    row = {"file_name": "a.py", "sha256": sha(code), "code": code}
    assert import_pool(folder_of(tmp_path / "pool", [row], [{"file_name": "a.py", "sha256": sha(code)}])).failures == ()


@pytest.mark.parametrize("name", ["nothing.parquet", "notes.txt", "empty", "torn.parquet", "columns.parquet"])
def test_what_is_no_pool_is_refused_with_its_name(tmp_path, name):
    path = tmp_path / name
    if name == "empty":
        path.mkdir()
    elif name == "columns.parquet":
        pq.write_table(pa.table({"x": [1]}), path)
    elif name != "nothing.parquet":
        path.write_text("no pool")
    with pytest.raises(ConfigError, match=re.escape(name)):
        load_pool(path)


def test_the_verb_imports_and_counts(parquet, tmp_path, capsys):
    out = tmp_path / "ours.parquet"
    assert main(["pool", "import", str(parquet), "--quick", "--out", str(out)]) == 0
    assert "20 environments" in capsys.readouterr().out.replace("\n", " ")
    assert len(load_pool(out)) == 20
    assert main(["pool", "stats", str(out)]) == 0
    assert "tool_use" in capsys.readouterr().out


def test_an_import_checks_as_training_does_unless_less_is_asked_for(tmp_path, capsys):
    folder, out = tmp_path / "pool", tmp_path / "ours.parquet"
    folder.mkdir()
    good, leaky = (
        shipped("examples") / "environments" / name
        for name in ("games/adding_two_numbers.py", "broken/ENV502_tells_after_an_error.py")
    )
    for path in (good, leaky):
        (folder / path.name).write_text(path.read_text("utf-8"), "utf-8")
    assert main(["pool", "import", str(folder), "--out", str(out)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert leaky.name in said and "ENV502" in said and "checked as `spadework check` does" in said
    assert [one.document_id for one in load_pool(out)] == [good.name]
    for choice, told in (("--quick", "not played or checked"), ("--play", "not checked"), ("--no-run", "nothing run")):
        assert main(["pool", "import", str(folder), choice, "--out", str(out)]) == 0
        assert told in " ".join(capsys.readouterr().out.split())
        assert len(load_pool(out)) == 2


def test_a_program_that_does_not_load_is_left_out(tmp_path, capsys):
    folder = tmp_path / "pool"
    folder.mkdir()
    (folder / "good.py").write_text(RELEASED["bare_string_reset"])
    (folder / "bad.py").write_text(
        "class BadEnv:\n    max_turns = 1\n    def reset(self, seed=None):\n        return [][1]\n"
        "    def step(self, action):\n        return action, 0.0, True, False, {}\n"
    )
    out = tmp_path / "ours.parquet"
    assert main(["pool", "import", str(folder), "--out", str(out)]) == 1
    assert len(load_pool(out)) == 1
    said = capsys.readouterr().out
    assert "bad.py" in said and "IndexError" in said


def test_a_runs_accepted_environments_become_a_pool(tmp_path):
    run, out = tmp_path / "run", tmp_path / "pool.parquet"
    small = ["run.cycles=1", "designer.environments=2", "validation.seeds=2", "validation.panel=false"]
    words = [word for one in [*small, "play.episodes=2"] for word in ("--set", one)]
    assert main(["train", "scripted", *words, "--run", str(run)]) == 0
    assert main(["pool", "import", str(run), "--out", str(out)]) == 0
    store = RunStore.read(run)
    accepted = {row["environment_id"] for row in store.rows("designs")} - {None}
    store.close()
    pool = load_pool(out)
    assert accepted and {environment.id for environment in pool} == accepted
    assert all(environment.hint and environment.skill for environment in pool)


def test_a_run_without_accepted_designs_is_no_pool(tmp_path):
    RunStore.create(tmp_path / "run", RunConfig()).close()
    with pytest.raises(ConfigError, match="no design of this run was accepted"):
        load_pool(tmp_path / "run")


def test_a_pool_keeps_the_domain_of_a_plug_in_and_ignores_a_column_of_another_meaning(parquet, tmp_path):
    one = load_pool(parquet)[0]
    ours = dataclasses.replace(one, domain="my_module:ADVENTURE")
    write_pool(tmp_path / "ours.parquet", [ours])
    assert [e.domain for e in load_pool(tmp_path / "ours.parquet")] == ["my_module:ADVENTURE"]
    rows = [{"game_id": "a", "code": one.source, "domain": "retail"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "theirs.parquet")
    assert [e.domain for e in load_pool(tmp_path / "theirs.parquet")] == [one.domain]
