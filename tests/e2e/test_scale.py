"""The scale model through the real stages: it designs, hints, plays and is trained, from what ships with the package."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import cli, start_cli, story

from spadework.policies.local.models import load_model
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes, read_sequences
from spadework.selfplay.score.rescore import rescore

pytest.importorskip("torch")

BY_ROLE = (
    "run.cycles=3",
    "run.checkpoint_every=1",
    "run.deterministic=true",
    "designer.environments=4",
    "play.episodes=4",
    "update.by_role=true",
    "update.roles.designer.lr=4e-4",
    "update.roles.agent.kl_coef=0.1",
    'update.kl_rows="all"',
    "update.entropy_coef=0.001",
    'update.schedule="cosine"',
    "update.warmup_steps=1",
)
"""Everything that an update can be set to and that a resumed run could get wrong."""
SMALL = ("run.cycles=2", "designer.environments=6", "play.episodes=4")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "run"
    done = cli("train", "scale", "--run", path, *(word for one in SMALL for word in ("--set", one)))
    assert done.returncode == 0, done.stderr
    return path


def test_it_writes_environments_that_are_accepted_and_played(run: Path) -> None:
    store = RunStore.read(run)
    environments, plays, designs = (store.rows(name) for name in ("environments", "plays", "designs"))
    store.close()
    assert len(environments) >= 6
    assert len({row["skill"] for row in environments}) >= 3
    assert all(10 <= len(row["source"].splitlines()) <= 40 for row in environments)
    assert {row["arm"] for row in plays} == {"unhinted", "hinted"}
    assert sum(bool(row["ran"]) for row in designs) >= 0.75 * len(designs)


def test_hints_are_shown_in_their_arm_alone(run: Path) -> None:
    store = RunStore.read(run)
    hints = {row["id"]: row["hint"] for row in store.rows("environments")}
    episodes = [episode for path in store.episode_files() for episode in read_episodes(path)]
    store.close()
    assert all(hints.values())
    for episode in episodes:
        if episode.turns:
            assert (hints[episode.environment_id] in episode.turns[0].observation) == (episode.arm == "hinted")
        assert all(hints[episode.environment_id] not in turn.observation for turn in episode.turns[1:])


def test_both_roles_train_and_sampler_and_trainer_agree(run: Path) -> None:
    store = RunStore.read(run)
    rows = [row for path in store.sequence_files() for row in read_sequences(path)]
    metrics = store.metrics()
    store.close()
    assert {row.role for row in rows} == {"agent", "designer"}
    assert metrics["train/logprob_mismatch"][0][1] < 1e-4  # later ones hold designs of a cycle before


def test_a_cycle_moves_the_weights(run: Path) -> None:
    from safetensors.torch import load_file

    (weights, *_) = sorted(run.glob("checkpoints/*/weights.safetensors"), reverse=True)
    after, before = load_file(weights), load_model("scale").model.state_dict()
    moved = [name for name, value in after.items() if not value.equal(before[name])]
    assert len(moved) == len(after) > 20


def test_the_trained_model_comes_out_as_a_folder_that_loads(run: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    out = tmp_path / "new" / "model"
    done = cli("export", run, "--what", "model", "--out", out)
    assert done.returncode == 0, done.stderr
    trained = load_file(max(run.glob("checkpoints/*/weights.safetensors")))
    loaded = load_model(str(out))
    weights = loaded.model.state_dict()
    assert trained and all(value.equal(weights[name]) for name, value in trained.items())
    assert loaded.tokenizer.chat_template
    again = cli("export", run, "--what", "model", "--out", out)
    assert again.returncode == 2 and "exists already" in again.stderr
    start = cli("export", run, "--what", "model", "--checkpoint", "start", "--out", tmp_path / "start")
    assert start.returncode == 2 and "nothing was trained yet" in start.stderr


def test_steps_by_role_and_schedules_go_on_where_a_killed_run_was(tmp_path: Path) -> None:
    settings = [word for one in BY_ROLE for word in ("--set", one)]
    unbroken, killed = tmp_path / "unbroken", tmp_path / "killed"
    done = cli("train", "scale", "--run", unbroken, *settings)
    assert done.returncode == 0, done.stderr
    process = start_cli("train", "scale", "--run", killed, *settings, PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("cycle 3/3 play"):
            break
    process.kill()
    process.wait()
    resumed = cli("train", "--resume", "--run", killed)
    assert resumed.returncode == 0, resumed.stderr
    told = story(unbroken)
    assert story(killed) == told
    assert {"train/grad_norm_agent", "train/grad_norm_designer"} <= told["metrics"].keys()
    rows = [row for cycle in told["sequences"] for row in cycle]
    assert any(not any(row.advantages) for row in rows), "rows without an advantage are kept for the KL term"
    store = RunStore.read(unbroken)
    assert rescore(store, store.config).differing_cycles == ()
    store.close()
