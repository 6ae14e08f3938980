"""What the system refuses is one line at the command line, and what is a bug stays a traceback."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spadework.cli import main
from spadework.cli.failures import one_line
from spadework.errors import ConfigError
from spadework.runs.store import RunStore
from spadework.selfplay.pool.files import import_pool, load_pool, write_pool

GAMES = Path(__file__).parents[3] / "examples" / "environments" / "games"
OLD = Path(__file__).parents[2] / "fixtures" / "v0.1"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    shutil.copytree(OLD / "scripted", path)
    return path


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that the command ends with."""
    assert main(arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_a_verb_that_is_misspelt(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, told in (("trian", "did you mean train?"), ("xyzzy", "there are train, ")):
        with pytest.raises(SystemExit) as left:
            main([wrong, "laptop"])
        assert left.value.code == 2
        assert f"there is no verb {wrong!r}; {told}" in " ".join(capsys.readouterr().err.split())


def test_errors_of_the_system_name_the_file_and_the_way_out() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/data/run")
    assert one_line(full) == (
        "/data/run: No space left on device; make room there and run the same command again; a run goes on with --resume"
    )
    assert "ulimit -n" in str(one_line(OSError(errno.EMFILE, "Too many open files")))
    assert one_line(ExceptionGroup("", [ExceptionGroup("", [ConfigError("c.toml: no")])])) == "c.toml: no"
    assert one_line(pa.ArrowInvalid("Parquet file size is 0 bytes")).startswith("a Parquet file cannot be read")
    for bug in (
        KeyError("x"),
        ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
        UnicodeEncodeError("utf-8", "", 0, 1, ""),
    ):
        assert one_line(bug) is None


@pytest.mark.parametrize("verb", [["replay", "--all"], ["rescore"], ["plot"], ["export", "--what", "episodes"]])
def test_a_zero_byte_parquet_of_a_run(run: Path, verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (run / "episodes" / "00001.parquet").write_bytes(b"")
    out = ["--out", str(run / "out.jsonl")] if verb[0] == "export" else []
    assert "00001.parquet is damaged" in said([verb[0], str(run), *verb[1:], *out], capsys)


def test_a_database_that_is_none(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.sqlite").write_bytes(b"no database at all, but longer than a header would be " * 3)
    assert "run.sqlite cannot be read" in said(["runs", "show", str(run)], capsys)
    (run / "run.sqlite").write_bytes(b"")
    assert "not a whole run directory" in said(["runs", "show", str(run)], capsys)


def test_paths_that_cannot_be(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    below = str(tmp_path / "file" / "x.jsonl")
    assert "something else is there" in said(["export", str(run), "--what", "episodes", "--out", below], capsys)
    assert "Not a directory" in said(["train", "scripted", "--run", str(tmp_path / "file" / "run")], capsys)
    assert "File exists" in said(["train", "scripted", "--run", str(tmp_path / "file")], capsys)
    assert "with --out" in said(["report", str(run), "--out", str(tmp_path / "file" / "r.html")], capsys)


@pytest.mark.parametrize("most", [12, 24, 63])
@pytest.mark.parametrize("verb", ["train", "check"])
def test_too_few_descriptors(tmp_path: Path, most: int, verb: str) -> None:
    """Opens wait for others to end; with this few they would wait for one another."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    what = ["scripted", "--run", str(tmp_path / "run")] if verb == "train" else [str(GAMES / "adding_fractions.py")]
    command = [sys.executable, "-m", "spadework", verb, *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, preexec_fn=limit)
    assert done.returncode == 2, done.stderr
    assert "ulimit -n" in done.stderr
    assert "Traceback" not in done.stderr


def pool(path: Path, **columns: object) -> Path:
    """A pool of two programs in our format, with these columns in place of its own."""
    write_pool(path, load_pool(OLD / "pool.parquet")[:2])
    table = pq.read_table(path)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.remove_column(at) if values is None else table.set_column(at, name, pa.array(values))
    pq.write_table(table, path)
    return path


def test_a_pool_as_other_tools_write_it(tmp_path: Path) -> None:
    whole = load_pool(pool(tmp_path / "pool.parquet"))
    assert len(whole) == 2
    nan = float("nan")
    pandas = load_pool(
        pool(tmp_path / "nan.parquet", cycle=[nan, 3.0], designer_version=[2.0, nan], design_id=[nan, nan])
    )
    assert [(one.cycle, one.designer_version, one.design_id) for one in pandas] == [(0, 2, None), (3, 0, None)]
    nameless = load_pool(pool(tmp_path / "nameless.parquet", id=None))
    assert [one.id for one in nameless] == [one.sha256[:12] for one in nameless]
    binary = load_pool(pool(tmp_path / "bytes.parquet", source=[one.source.encode() for one in whole]))
    assert [one.source for one in binary] == [one.source for one in whole]


def test_rows_of_a_pool_that_cannot_be_used_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = pool(tmp_path / "pool.parquet", source=[b"\xff\xfe", b"x = 1"], cycle=["1", "one"], sha256=["", ""])
    assert [why for _, why in import_pool(broken).failures] == [
        "the program is not UTF-8: byte 0xff on line 1",
        "cycle is 'one', not a whole number",
    ]
    (tmp_path / "empty.parquet").write_bytes(b"")
    assert "empty.parquet: cannot be read as Parquet" in said(
        ["pool", "stats", str(tmp_path / "empty.parquet")], capsys
    )


@pytest.mark.parametrize(("verb", "extra"), [("report", "viewer"), ("view", "viewer"), ("plot", "local")])
def test_a_base_install_names_the_extra(run: Path, verb: str, extra: str) -> None:
    code = (
        "import sys\n"
        "class Base:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in sys.argv[1].split(','):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Base())\n"
        "from spadework.cli import main\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )
    missing = "torch,transformers,matplotlib,tensorboard,starlette,uvicorn,duckdb,pygments,sklearn,scipy"
    more = ["--no-browser"] if verb == "view" else []
    done = subprocess.run(
        [sys.executable, "-c", code, missing, verb, str(run), *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"pip install 'spadework[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_is_read_is_left_as_it_was(run: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in run.iterdir()}
    store = RunStore.read(run)
    assert json.dumps(store.rows("environments"))
    store.close()
    assert {path.name: path.stat().st_mtime_ns for path in run.iterdir()} == before
    assert os.access(run, os.W_OK)
