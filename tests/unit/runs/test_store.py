"""Run directories: whole or absent, swept on resume, never written by two."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from spadework.config import RunConfig
from spadework.errors import RunError
from spadework.runs.files import torn, write_folder, write_whole
from spadework.runs.store import CycleRecord, RegretRow, RunStore
from spadework.types import Design, Episode, Fault, Segment, TrainingRow, Turn


def save(folder: Path) -> None:
    (folder / "weights").write_bytes(b"w" * 100)


def episode(cycle: int) -> Episode:
    segment = Segment((1, 2), (False, True), (0.0, -0.123456789012345), 4)
    turns = (Turn("sum?", "it is \\boxed{3}", "\\boxed{3}", 1.0),)
    return Episode(f"{cycle}-e", cycle, "env", "hinted", 0, 2**31 - 1, turns, (segment,), "terminated", 1.0, "yes")


def sequence() -> TrainingRow:
    return TrainingRow((1, 2), (False, True), (0.0, -0.1), (0.0, 1 / 3), "agent", "g", "e", 4)


def commit(store: RunStore, cycle: int, checkpoint: bool = True) -> None:
    record = CycleRecord(cycle, episodes=[episode(cycle)], sequences=[sequence()], metrics={"m": cycle / 3})
    store.commit(record, {"cycle": cycle} if checkpoint else None, save)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore.create(tmp_path / "run", RunConfig())


def reopen(store: RunStore) -> RunStore:
    store.close()
    return RunStore.resume(store.path)


def test_what_goes_in_comes_out(store: RunStore) -> None:
    from spadework.runs.tables import read_episodes, read_sequences

    commit(store, 0)
    assert read_episodes(store.episode_files()[0]) == [episode(0)]
    assert read_sequences(store.sequence_files()[0]) == [sequence()]
    assert store.metrics() == {"m": [(0, 0.0)]}
    assert store.config == RunConfig()


def test_a_faulty_episode_keeps_its_fault(store: RunStore) -> None:
    from spadework.runs.tables import read_episodes

    fault = Fault("program", "ENV201", "raised", "traceback")
    broken = Episode("x", 0, "env", "unhinted", 0, 1, (), (), "fault", float("nan"), fault=fault)
    store.commit(CycleRecord(0, episodes=[broken]), None)
    (read,) = read_episodes(store.episode_files()[0])
    assert (read.fault, read.valid, read.return_ == read.return_) == (fault, False, False)


def test_cycles_after_the_last_checkpoint_are_swept(store: RunStore) -> None:
    commit(store, 0)
    commit(store, 1, checkpoint=False)
    store = reopen(store)
    assert store.last_checkpoint().cycle == 0
    assert store.metrics() == {"m": [(0, 0.0)]}
    assert [path.name for path in store.episode_files()] == ["00000.parquet"]


def test_files_of_a_cycle_that_was_never_committed_are_swept(store: RunStore) -> None:
    commit(store, 0)
    (store.path / "episodes" / "00001.parquet").write_bytes(b"half")
    (store.path / "checkpoints" / ".00001.tmp").mkdir()
    store = reopen(store)
    assert [path.name for path in store.episode_files()] == ["00000.parquet"]
    assert [path.name for path in (store.path / "checkpoints").iterdir()] == ["00000"]


def test_a_torn_checkpoint_is_set_aside_and_the_one_before_is_used(store: RunStore) -> None:
    commit(store, 0)
    commit(store, 1)
    (store.path / "checkpoints" / "00001" / "weights").write_bytes(b"w" * 99)
    store = reopen(store)
    assert store.last_checkpoint().cycle == 0
    assert "00001" in store.notes[0]
    assert "checksum" in store.notes[0]
    assert (store.path / "checkpoints" / "00001.torn").exists()


def test_old_checkpoints_go(store: RunStore) -> None:
    for cycle in range(4):
        commit(store, cycle)
        store.prune(2)
    assert sorted(path.name for path in (store.path / "checkpoints").iterdir()) == ["00002", "00003"]


def test_two_cannot_write_one_run(store: RunStore) -> None:
    commit(store, 0)
    with pytest.raises(RunError, match="another process"):
        RunStore.resume(store.path)
    RunStore.read(store.path).close()


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_whole(target, lambda path: path.write_text("old"))

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        write_whole(target, fail)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    folder = tmp_path / "folder"
    write_folder(folder, save)
    assert torn(folder) is None
    (folder / "manifest.json").unlink()
    assert torn(folder)


def test_a_run_of_an_older_version_goes_on(store: RunStore) -> None:
    commit(store, 0)
    store.close()
    with sqlite3.connect(store.path / "run.sqlite") as old:
        old.execute("ALTER TABLE designs DROP COLUMN novelty")
        old.execute("DROP TABLE regrets")
    again = RunStore.resume(store.path)
    design = Design("d", 1, 0, 0, "s", "doc", (), "", "", "x = 1", (), ("ENV001 no",), novelty=0.5)
    again.commit(CycleRecord(1, designs=[design], regrets=[RegretRow("e", 0.1, 0.0, 0.2, 0.1, 4)]), None)
    assert again.rows("designs")[0]["novelty"] == 0.5
