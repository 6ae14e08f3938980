"""Programs and pools in the form in which the method's authors publish theirs: they load, play and import unchanged."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spadework.cli import main
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.errors import ConfigError
from spadework.selfplay.pool.files import import_pool, load_pool

POOL = Path(__file__).parents[1] / "fixtures" / "authors"
SKILLS = ["API Orchestration", "Data Retrieval", "Pattern Recognition"]
REAL = os.environ.get("SPADEWORK_AUTHORS_POOL")


def source(number):
    return (POOL / "games" / f"game_{number:06d}.py").read_text()


def call(tool, **arguments):
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def play(text, actions):
    """What each action brings; an action may be a function of what came before."""

    async def work():
        async with ForkServer() as sandbox:
            session = await sandbox.open(text, Limits())
            seen = [(await session.reset(3)).observation]
            steps = []
            for action in actions:
                steps.append(await session.step(action(seen) if callable(action) else action))
                seen.append(steps[-1].observation)
            solution, tools = await session.call("solution"), list(session.tools)
            await session.close()
            return seen, steps, solution, tools

    return asyncio.run(work())


def parcel(seen):
    return next(iter(json.loads(seen[1].partition("\n\n")[0])))


def test_a_program_that_reveals_its_instructions_itself_is_played_to_the_end():
    seen, steps, solution, tools = play(
        source(1),
        [
            call("list_parcels"),
            "<answer>done</answer>",
            lambda seen: call("shelve", parcel=parcel(seen), shelf=seen[1].split(" shelf.")[0].split()[-1]),
            lambda seen: call("label", parcel=parcel(seen), text="stored"),
            "<answer>done</answer>",
        ],
    )
    assert [tool["function"]["name"] for tool in tools] == ["list_parcels", "shelve", "label"]
    assert "[STEP 1 COMPLETE] Put the parcel" in seen[1]
    assert seen[2].endswith("Go on with the current step.")
    assert not any("User: " in text for text in seen)
    assert "[ALL STEPS COMPLETE]" in seen[4]
    assert [step.reward for step in steps] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert steps[-1].terminated
    assert solution is None


def test_a_call_outside_of_the_schema_is_refused_and_tools_answer_in_plain_text():
    seen, *_ = play(source(1), [call("shelve", parcel="P1", shelf="west"), call("label", parcel="P1", text="x")])
    assert json.loads(seen[1]) == {"error": "shelf must be one of north, south, east"}
    assert json.loads(seen[2]) == {"error": "KeyError: 'P1'"}


def test_a_program_with_one_answer_is_won_by_its_tools():
    def total(seen):
        return f"<answer>{float(seen[2]) + float(seen[4]):.2f}</answer>"

    def opened(at):
        return lambda seen: call(
            "open_account", name=seen[0].split("balances of ")[1].split(". ")[0].split(" and ")[at]
        )

    seen, steps, solution, _ = play(source(2), [opened(0), call("balance"), opened(1), call("balance"), total])
    assert seen[1].startswith("Opened A")
    assert (steps[-1].reward, steps[-1].terminated, solution) == (1.0, True, None)


@pytest.mark.parametrize("path", [POOL, POOL / "games"])
def test_a_folder_with_programs_in_games_keeps_its_skills(path):
    imported = import_pool(path)
    assert [one.skill for one in imported.environments] == SKILLS
    assert [one.document_id for one in imported.environments] == ["game_000001", "game_000002", "game_000003"]
    assert [one.domain for one in imported.environments] == ["tool_use", "tool_use", "games"]
    assert (imported.failures, imported.duplicates) == ((), ())


@pytest.mark.parametrize("number", [1, 2])
def test_a_sum_of_the_manifest_or_of_the_list_of_sums_is_checked(tmp_path, number):
    shutil.copytree(POOL, tmp_path / "pool")
    with (tmp_path / "pool" / "games" / f"game_{number:06d}.py").open("a") as file:
        file.write("# changed\n")
    assert import_pool(tmp_path / "pool").failures == ((f"game_{number:06d}.py", "the SHA-256 does not match"),)


def test_a_torn_line_of_a_manifest_is_named(tmp_path):
    shutil.copytree(POOL, tmp_path / "pool")
    (tmp_path / "pool" / "manifest.jsonl").write_text('{"game_id": "game_000001"}\n{"game_id":\n')
    with pytest.raises(ConfigError, match=r"manifest\.jsonl:2: not valid JSON"):
        import_pool(tmp_path / "pool")


def test_parquet_is_imported_and_played(tmp_path, capsys):
    rows = [
        {"game_id": f"g{number}", "file_name": f"game_{number:06d}.py", "skill": skill, "code": source(number)}
        for number, skill in enumerate(SKILLS, 1)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "theirs.parquet")
    out = tmp_path / "ours.parquet"
    assert main(["pool", "import", str(tmp_path / "theirs.parquet"), "--play", "--out", str(out)]) == 0
    assert "0 failures" in capsys.readouterr().out.replace("\n", " ")
    assert [one.skill for one in load_pool(out)] == SKILLS


BROKEN = {
    "syntax.py": "class AEnv:\n    def reset(self seed): pass\n",
    "classless.py": "x = 1\n",
    "writes.py": "import os\nclass AEnv:\n    def reset(self, seed=None):\n        return os.name\n",
}
ONLY_RUN = {
    "schema.py": source(2).replace("'type': 'string'", "'type': 'text'"),
    "step.py": "class AEnv:\n    max_turns = 3\n    def reset(self, seed=None):\n        return 'go', {}\n"
    "    def step(self, action):\n        return [][len(action)]\n    def solution(self):\n        return 'x'\n",
}


@pytest.mark.parametrize("way", ["--no-run", "--play"])
def test_what_cannot_be_played_is_a_failure_and_named_by_its_file(tmp_path, capsys, way):
    folder = tmp_path / "pool"
    folder.mkdir()
    for name, text in {**BROKEN, **ONLY_RUN, "good.py": source(3)}.items():
        (folder / name).write_text(text)
    assert main(["pool", "import", str(folder), way, "--out", str(tmp_path / "out.parquet")]) == 1
    said = capsys.readouterr().out
    failing = BROKEN if way == "--no-run" else {**BROKEN, **ONLY_RUN}
    assert all(name in said for name in failing)
    assert f"{len(failing)} failures" in said.replace("\n", " ")
    assert "good.py" not in said


@pytest.mark.skipif(REAL is None, reason="SPADEWORK_AUTHORS_POOL names no pool")
def test_a_real_pool_of_the_authors_plays(tmp_path):
    """``SPADEWORK_AUTHORS_POOL`` is a pool, or a folder of programs, as the authors wrote it."""
    assert main(["pool", "import", str(REAL), "--play", "--out", str(tmp_path / "out.parquet")]) == 0
    assert load_pool(tmp_path / "out.parquet")
