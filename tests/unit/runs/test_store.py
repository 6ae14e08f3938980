"""Run directories: whole or absent, swept on resume, never written by two."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from spadework.config import RunConfig
from spadework.errors import RunError
from spadework.runs.cycle_record import CycleRecord, RegretRow
from spadework.runs.files import torn, write_folder, write_whole
from spadework.runs.store import RunStore
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


def test_no_byte_of_a_file_of_rows_turns_unseen(store: RunStore) -> None:
    from spadework.runs.tables import read_sequences

    commit(store, 0)
    (file,) = store.sequence_files()
    data, whole = file.read_bytes(), read_sequences(file)
    for place in range(0, len(data), 7):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            assert read_sequences(file) == whole, f"byte {place}"  # it may stand in a part that nobody reads
        except RunError as error:
            assert str(file) in str(error)


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


def test_the_best_checkpoint_is_spared(store: RunStore) -> None:
    for cycle, average in enumerate((0.4, 0.9, 0.5, 0.9, 0.1)):
        store.commit(CycleRecord(cycle, metrics={"eval/average": average}), {"cycle": cycle}, save)
        store.prune(1, store.best("eval/average"))
    assert store.best("eval/average") == [1], "the first of equals"
    assert list(store.checkpoints()) == [1, 4]
    assert sorted(path.name for path in (store.path / "checkpoints").iterdir()) == ["00001", "00004"]


def test_a_folder_that_a_kill_in_prune_left_is_swept(store: RunStore) -> None:
    for cycle in range(3):
        commit(store, cycle)
    (store.path / "checkpoints" / "00000.torn").mkdir()
    store._db.execute("DELETE FROM checkpoints WHERE cycle = 0")
    store._db.commit()
    store = reopen(store)
    kept = ["00000.torn", "00001", "00002"]
    assert sorted(path.name for path in (store.path / "checkpoints").iterdir()) == kept
    assert len(store.episode_files()) == 3


def test_a_run_without_a_cycle_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunStore.create(path, RunConfig()).close()
    (path / "episodes" / "00000.parquet").write_bytes(b"of a cycle that was never committed")
    other = RunConfig.model_validate({"run": {"seed": 7}})
    store = RunStore.create(path, other)
    assert (store.config, store.episode_files()) == (other, [])
    with pytest.raises(RunError, match="another process"):
        RunStore.create(path, other)
    commit(store, 0)
    store.close()
    with pytest.raises(RunError, match="holds a run already"):
        RunStore.create(path, other)


def test_a_start_that_failed_leaves_what_was_there_before(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "new", RunConfig())
    store.discard_if_unstarted()
    assert not (tmp_path / "new").exists()
    (tmp_path / "old" / "episodes").mkdir(parents=True)
    (tmp_path / "old" / "notes.txt").write_text("mine")
    store = RunStore.create(tmp_path / "old", RunConfig())
    store.discard_if_unstarted()
    assert sorted(path.name for path in (tmp_path / "old").iterdir()) == ["episodes", "notes.txt"]
    store = RunStore.create(tmp_path / "started", RunConfig())
    commit(store, 0)
    store.discard_if_unstarted()
    assert store.config == RunConfig()
    again = reopen(store)
    again.discard_if_unstarted()
    assert again.path.exists()


def test_a_run_goes_on_under_free_settings_and_refuses_others(store: RunStore) -> None:
    for cycle in range(2):
        commit(store, cycle)
    longer = RunConfig.model_validate({"run": {"cycles": 500}, "track": {"project": "x"}})
    told = store.adopt_config(longer, change=False, how="ask")
    assert [one.key for one in told] == ["run.cycles", "track.project"]
    assert store.config == longer
    with pytest.raises(RunError, match="holds 2 cycles already"):
        store.adopt_config(RunConfig.model_validate({"run": {"cycles": 1}}), change=True, how="ask")
    store = reopen(store)
    other = RunConfig.model_validate({"run": {"cycles": 600}, "update": {"lr": 1.0}})
    with pytest.raises(RunError, match=r"update\.lr: 1e-06 -> 1\.0") as caught:
        store.adopt_config(other, change=False, how="ask")
    assert "run.cycles" not in str(caught.value)
    store = reopen(store)
    assert store.config == longer
    store.adopt_config(other, change=True, how="ask")
    assert store.config == other


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
