"""A model behind an endpoint designs, plays and ranks; beside a model that trains it designs alone."""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.runs import story

from spadework import build
from spadework.cli import main
from spadework.cli.progress import Progress
from spadework.config import EndpointSection
from spadework.config.files import load_config
from spadework.domains.games_demo import demo_script
from spadework.domains.tool_use_demo import tool_script
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.policies.server.openai import OpenAICompatPolicy
from spadework.resources import shipped
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes
from spadework.selfplay.loop import SelfPlay
from spadework.selfplay.pool.files import load_pool
from spadework.testing.scripted import ScriptedPolicy, ScriptedTrainer
from spadework.testing.stand_in import Manners, StandIn

QUICK = ["--set", "validation.panel=false", "--set", "validation.seeds=2", "--set", "designer.environments=2"]


@contextmanager
def serving(manners: Manners | None = None, script=demo_script) -> Iterator[StandIn]:
    """A stand-in in a thread of its own: the command line has its own event loop."""
    server = StandIn(ScriptedPolicy(script), manners)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def endpoint(server: StandIn) -> list[str]:
    return ["--set", "model.name=openai:demo", "--set", f'endpoint.urls=["{server.url}"]']


def test_it_designs_plays_and_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool, ranking = tmp_path / "pool.parquet", tmp_path / "ranking.jsonl"
    with serving() as server:
        given = ["--config", "scripted", *QUICK, *endpoint(server)]
        assert main(["design", "-n", "2", *given, "--out", str(pool)]) == 0
        assert "endpoint: requests" in capsys.readouterr().out
        assert len(load_pool(pool)) == 2
        assert main(["play", str(pool), "-n", "4", *given]) == 0
        assert main(["rank", str(pool), "-n", "4", *given, "--out", str(ranking)]) == 0
    ranked = [json.loads(line) for line in ranking.read_text().splitlines()]
    assert [one["episodes"] for one in ranked] == [8, 8] and not any(one["faults"] for one in ranked)


@pytest.mark.parametrize("verb", ["play", "rank", "design", "train"])
def test_a_dead_endpoint_is_named_and_nothing_is_made_of_it(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games, url = str(shipped("examples") / "environments" / "games"), "http://127.0.0.1:9/v1"
    asked = {
        "play": ["play", games, "--endpoint", url, "--model", "x"],
        "rank": ["rank", games, "--endpoint", url, "--model", "x", "--out", str(tmp_path / "r.jsonl")],
        "design": ["design", "-n", "4", "--endpoint", url, "--model", "x", "--out", str(tmp_path / "pool")],
        "train": [
            *("train", "scripted", "--set", "designer.model=openai:x", "--set", "designer.train=false"),
            *("--set", f'endpoint.urls=["{url}"]', "--run", str(tmp_path / "run")),
        ],
    }
    began = time.monotonic()
    assert main(asked[verb]) == 2
    assert time.monotonic() - began < 15
    said = capsys.readouterr()
    assert f"'x' gives no answer: {url} cannot be reached: Connection refused" in said.err.splitlines()[-1]
    assert "win rate" not in said.out and "nan" not in said.out
    assert not list(tmp_path.glob("r.jsonl")) and not list(tmp_path.glob("pool/*.parquet"))


def test_a_wrong_name_is_told_with_those_that_are_served(capsys: pytest.CaptureFixture[str]) -> None:
    games = str(shipped("examples") / "environments" / "games")
    with serving(Manners(models=("right",))) as server:
        assert main(["play", games, "--endpoint", server.url, "--model", "wrong"]) == 2
    assert "It serves right" in capsys.readouterr().err
    assert main(["play", games, "--endpoint", server.url]) == 2
    assert "--endpoint needs --model" in capsys.readouterr().err


def test_an_endpoint_that_dies_on_the_way_stops_what_is_asked_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, ranking = tmp_path / "pool", tmp_path / "ranking.jsonl"
    quick = ["--set", "endpoint.retries=0"]
    with serving() as server:
        given = ["--config", "scripted", *QUICK, "--endpoint", server.url, "--model", "demo"]
        assert main(["design", "-n", "5", *given, "--out", f"{pool}/"]) == 0
        assert [path.name for path in sorted(pool.iterdir())] == ["pool.parquet", "pool.rejected.jsonl"]
        server.manners = Manners(troubles={"500": 0.5})
        assert main(["play", str(pool), "-n", "4", *given, *quick]) in (0, 1)
        assert re.search(r"faults: \d+, by cause:\n +\d+ x endpoint SERVER http", capsys.readouterr().out)
        server.manners, dying = Manners(), DyingAfter(1)
        server._refusal = dying  # type: ignore[method-assign]
        assert main(["rank", str(pool), "-n", "2", "--jobs", "1", *given, *quick, "--out", str(ranking)]) == 2
        assert "3 in a row gave nothing" in capsys.readouterr().err and not ranking.exists()
        assert ranking.with_suffix(".items.jsonl").read_text() == "", "what gave nothing is tried again"
        dying.served = 0
        assert main(["design", "-n", "99", "--jobs", "1", *given, *quick, "--out", str(pool)]) == 2
        assert "3 in a row gave nothing" in capsys.readouterr().err


class DyingAfter:
    """Lets the first requests through and refuses all others."""

    def __init__(self, served: int) -> None:
        self.allowed, self.served = served, 0

    def __call__(self, path: str, body: Any) -> tuple[int, str] | None:
        self.served += 1
        return None if self.served <= self.allowed else (500, '{"error": "gone"}')


def test_it_does_not_train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--set", "model.name=openai:demo", "--set", 'endpoint.urls=["http://127.0.0.1:9"]']
    assert main(["train", "scripted", *given, "--run", str(tmp_path / "run")]) == 2
    assert "does not train" in capsys.readouterr().err
    assert main(["train", "scripted", "--set", "designer.model=frozen", "--run", str(tmp_path / "other")]) == 2
    assert not (tmp_path / "run").exists()
    assert "set designer.train=false" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["tool_calls", "text"])
def test_tool_use_goes_through_it(form: str, tmp_path: Path) -> None:
    """Programs written, judged and served over the wire, whether the server parses calls or not."""
    with serving(Manners(parses_calls=form == "tool_calls"), tool_script) as server:
        pool = tmp_path / "pool.parquet"
        given = ["--config", "tool-use-scripted", *endpoint(server), "--set", "designer.environments=2"]
        assert main(["design", "-n", "1", *given, "--out", str(pool)]) == 0
        out = tmp_path / "episodes.parquet"
        assert main(["play", str(pool), "-n", "8", *given, "--out", str(out)]) == 0
        assert any(body.get("tools") for body in server.requests)
    episodes = read_episodes(out)
    assert any(turn.reward == 1.0 for e in episodes for turn in e.turns) and all(e.valid for e in episodes)


def test_another_model_designs_and_never_trains(tmp_path: Path) -> None:
    """An endpoint that misbehaves designs; the local model plays and trains; faults are counted and pay nothing."""
    run = tmp_path / "run"
    manners = Manners(troubles={"500": 0.15, "half_json": 0.15, "429": 0.1})
    with serving(manners) as server:
        given = ["--set", "designer.model=openai:demo", "--set", f'endpoint.urls=["{server.url}"]']
        given += ["--set", "designer.train=false", "--set", "endpoint.retries=1", "--set", "run.cycles=3"]
        assert main(["train", "scripted", *QUICK, *given, "--run", str(run)]) == 0
        asked = len(server.requests)
    told = story(run)
    assert {row.role for rows in told["sequences"] for row in rows} == {"agent"}
    metrics = told["metrics"]
    assert (
        sum(value for _, value in metrics["endpoint/requests"])
        + sum(value for name, pairs in metrics.items() if name.startswith("endpoint/retried/") for _, value in pairs)
        == asked
    )
    faults = [json.loads(row["fault"]) for row in told["designs"] if row["fault"] != "null" and row["fault"]]
    failed = sum(v for name, pairs in metrics.items() if name.startswith("endpoint/faults/") for _, v in pairs)
    assert len(faults) == failed
    paid = {row["design_id"] for row in told["scores"]}
    assert paid and not paid & {row["id"] for row in told["designs"] if row["fault"]}


def test_a_frozen_designer_is_the_model_as_it_started(tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = ["--set", "designer.model=frozen", "--set", "designer.train=false", "--set", "run.cycles=3"]
    assert main(["train", "scripted", *QUICK, *given, "--run", str(run)]) == 0
    store = RunStore.read(run)
    try:
        versions = {row["cycle"]: row["designer_version"] for row in store.rows("environments")}
    finally:
        store.close()
    assert versions == {0: 0, 2: 0}


async def test_a_run_over_an_endpoint_that_misbehaves_ends_right_and_pays_nothing_for_faults(tmp_path: Path) -> None:
    """Both roles speak through it: refusals, errors, drops, half bodies, hangs, contradicting ids, empty answers."""
    troubles = {
        "429": 0.06,
        "500": 0.06,
        "drop": 0.06,
        "half_json": 0.06,
        "slow": 0.02,
        "wrong_ids": 0.06,
        "no_choice": 0.04,
    }
    config = load_config("scripted", [*QUICK[1::2], "run.cycles=3", "play.episodes=8"])
    async with (
        StandIn(ScriptedPolicy(demo_script), Manners(troubles=troubles), seed=5) as server,
        ForkServer() as sandbox,
    ):
        settings = EndpointSection(urls=(server.url,), server="vllm", retries=1, timeout_seconds=6.0)
        policy = OpenAICompatPolicy(settings, "demo", run_seed=1)
        trainer = ScriptedTrainer(policy)  # type: ignore[arg-type]
        stages = build.build_stages(config, sandbox, build.build_corpus(config))
        store = RunStore.create(tmp_path / "run", config)
        with Progress(Console(quiet=True), 3) as progress:
            await SelfPlay(config, stages, progress).run(policy, trainer, store)
        await policy.close()
        store.close()
        assert set(server.met) == set(troubles)
    told = story(tmp_path / "run")
    metrics = {name: sum(value for _, value in pairs) for name, pairs in told["metrics"].items()}
    given_up = sum(value for name, value in metrics.items() if name.startswith("endpoint/faults/"))
    retried = sum(value for name, value in metrics.items() if name.startswith("endpoint/retried/"))
    forgotten = metrics.get("agent/rejected_episodes", 0.0)  # of designs that got no hint: they count nowhere
    assert given_up > 0 and 0 <= given_up - metrics["faults/other"] <= forgotten
    assert retried + metrics["endpoint/requests"] == len(server.requests)
    files = sorted((tmp_path / "run" / "episodes").glob("*.parquet"))
    episodes = [episode for file in files for episode in read_episodes(file)]
    faulty = {e.id for e in episodes if e.fault is not None}
    assert faulty and all(math.isnan(e.return_) for e in episodes if e.id in faulty)
    trained = {row.source_id for rows in told["sequences"] for row in rows}
    assert trained and not trained & faulty
    plays = {(row["cycle"], row["environment_id"], row["arm"]): row for row in told["plays"]}
    for (cycle, name, arm), row in plays.items():
        own = [e for e in episodes if (e.cycle, e.environment_id, e.arm) == (cycle, name, arm)]
        valid = [e.return_ for e in own if e.id not in faulty]
        assert row["faults"] == len(own) - len(valid)
        assert not valid or row["mean_return"] == pytest.approx(sum(valid) / len(valid))
