"""Tool use end to end: oracle and no-op on every bundled environment, a scripted run, a tiny one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.runs import cli

from spadework.cli import main
from spadework.domains.tool_tasks import VARIANTS
from spadework.domains.tool_use import TOOL_USE
from spadework.envs.check.players import oracle
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.policies.base import Message, SamplingParams
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.runs.reading import read_designs
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes, read_sequences
from spadework.selfplay.design.examples import load_examples
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment, Episode

EXAMPLES = load_examples(TOOL_USE)
SETTINGS = PlaySettings((Message(role="system", content="serve"),), Limits(), SamplingParams(4_000))
SEEDS = (0, 1)


async def played(sandbox: Sandbox, environment: Environment, seed: int, *replies: str) -> Episode:
    def script(messages, rng, version):
        turn = sum(message["role"] == "assistant" for message in messages)
        return replies[min(turn, len(replies) - 1)]

    play = Play(environment, "unhinted", 0, seed, 0, (seed,))
    return await play_episode(ScriptedPolicy(script), sandbox, play, SETTINGS)


async def oracle_actions(sandbox: Sandbox, environment: Environment, seed: int) -> tuple[str, ...]:
    session, shadow = [await sandbox.open(environment.source, Limits()) for _ in range(2)]
    try:
        return (await oracle(session, shadow, seed, TOOL_USE, session.max_turns)).actions
    finally:
        await session.close()
        await shadow.close()


def test_an_oracle_wins_every_bundled_environment_and_a_no_op_none() -> None:
    async def all_of_it() -> None:
        async with ForkServer() as sandbox:
            for example in EXAMPLES:
                for seed in SEEDS:
                    actions = await oracle_actions(sandbox, example.environment, seed)
                    best = await played(sandbox, example.environment, seed, *actions)
                    idle = await played(sandbox, example.environment, seed, "I do nothing.")
                    hasty = await played(sandbox, example.environment, seed, "<answer>done</answer>")
                    assert (best.win, best.fault) == (True, None), example.name
                    assert (idle.win, hasty.win) == (False, False), example.name
                    assert not any(turn.malformed for turn in best.turns)

    assert len(EXAMPLES) >= 10
    assert {example.task.variant for example in EXAMPLES if example.task} == set(VARIANTS)
    asyncio.run(all_of_it())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tools") / "run"
    quick = ["--set", "validation.seeds=2", "--set", "run.cycles=3"]
    assert main(["train", "tool-use-scripted", "--run", str(path), *quick]) == 0
    return path


def test_a_scripted_run_designs_plays_and_trains(run: Path) -> None:
    store = RunStore.read(run)
    designs, metrics = read_designs(store), store.metrics()
    plays = store.rows("plays")
    episodes = [episode for path in store.episode_files() for episode in read_episodes(path)]
    rows = [row for path in store.sequence_files() for row in read_sequences(path)]
    environments = {row["id"]: row for row in store.rows("environments")}
    store.close()
    assert {design.variant for design in designs} <= set(VARIANTS)
    assert len({design.variant for design in designs}) > 1
    assert {row["domain"] for row in environments.values()} == {"tool_use"}
    assert {row.role for row in rows} == {"agent", "designer"}
    assert {row["arm"] for row in plays} == {"hinted", "unhinted", "placebo", "answer_only"}
    assert {episode.arm for episode in episodes} == {row["arm"] for row in plays}
    trained = {row.source_id for row in rows if row.role == "agent"}
    assert trained <= {episode.id for episode in episodes if episode.arm == "unhinted"}
    assert any(turn.malformed for episode in episodes for turn in episode.turns)
    for name in ("placebo_win_rate", "placebo_regret", "answer_only_win_rate", "answer_only_regret"):
        assert [cycle for cycle, _ in metrics[f"control/{name}"]] == [0, 2]
    assert metrics["agent/hinted_win_rate"][0][1] > metrics["agent/unhinted_win_rate"][0][1]


def test_its_episodes_replay_and_its_scores_come_out_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(run), "--cycle", "0"]) == 0
    assert "OK: 48 of 48" in capsys.readouterr().out
    assert main(["rescore", str(run)]) == 0
    assert "moved: 0 of" in capsys.readouterr().out


def test_a_tiny_model_goes_through_a_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = cli("train", "tool-use-tiny", "--run", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["cycle"] for line in lines] == [0, 1]
    assert all(line["faults/other"] == 0 for line in lines)
