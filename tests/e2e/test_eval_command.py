"""``spadework eval`` as a user calls it: endpoints, runs, faults, a kill, comparison and choice of checkpoints."""

import asyncio
import json
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.runs import cli, start_cli

from spadework.cli import main
from spadework.evals.records import read_result
from spadework.evals.selection import read_curve
from spadework.policies.base import Message
from spadework.runs.store import RunStore
from spadework.selfplay.pool.files import load_pool
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import Manners, StandIn

QUICK = [
    *("--set", "run.deterministic=true", "--set", "validation.panel=false", "--set", "validation.seeds=2"),
    *("--set", "designer.environments=3", "--set", "play.episodes=2", "--set", "run.keep_checkpoints=1"),
]


def doubles(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """Knows the answer, and says another one in a third of its tries."""
    if messages[-1]["content"] == "Say yes.":  # the request before all others
        return "yes"
    number = int(messages[-1]["content"].split()[2])
    return f"\\boxed{{{2 * number + (rng.random() < 1 / 3)}}}"


@contextmanager
def served(manners: Manners) -> Iterator[str]:
    """An endpoint in a thread of its own."""
    loop, server = asyncio.new_event_loop(), StandIn(ScriptedPolicy(doubles), manners)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield server.url
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    path = tmp_path / "aime.jsonl"
    rows = [{"id": f"P{n}", "problem": f"Double it: {n} please.", "answer": 2 * n} for n in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def asked(url: str, problems: Path, out: Path, *more: str) -> list[str]:
    return [
        *("eval", "aime2025", "--endpoint", url, "--model", "doubler", "--data", str(problems), "--out", str(out)),
        *("-n", "4", "--jobs", "4", *more),
    ]


def test_eval_asks_an_endpoint_and_shows_the_paper_beside(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with served(Manners()) as url:
        assert main(asked(url, problems, tmp_path / "one")) == 0
        assert main(asked(url, problems, tmp_path / "two", "--set", "run.seed=1")) == 0
    result = read_result(tmp_path / "one" / "aime2025.json")
    assert (result.n, result.errors, result.subject["model"]) == (24, 0, "doubler")
    assert 0.3 < result.score().mean < 1
    assert result.score().low < result.score().mean < result.score().high
    assert (result.setting.sampling["trials"], result.setting.sampling["top_k"]) == (4, 20)
    told = capsys.readouterr().out
    assert "24/24" in told
    assert "* 4B SPADE (Games)" in told
    assert "48.9" in told
    assert "the authors' own figures" in told
    assert main(["eval", "compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 0
    assert "aime2025" in capsys.readouterr().out
    assert main(["eval", "show", str(tmp_path / "one"), "--reference", "none"]) == 0
    assert "SPADE" not in capsys.readouterr().out


def test_eval_counts_faults_of_an_endpoint_as_failures(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lax = ["--set", "eval.max_fault_share=0.9"]
    with served(Manners(troubles={"500": 0.35})) as url:
        assert main(asked(url, problems, tmp_path / "out", "--set", "endpoint.retries=0", *lax)) == 0
        told = capsys.readouterr().out
        assert main(asked(url, problems, tmp_path / "strict", "--set", "endpoint.retries=0")) == 2
    assert "more than eval.max_fault_share = 0.1" in capsys.readouterr().err
    assert not (tmp_path / "strict" / "aime2025.json").exists()
    assert f"endpoint SERVER {url} answered 500: try again later" in told
    result = read_result(tmp_path / "out" / "aime2025.json")
    assert result.n == 24
    assert 0 < result.errors < 16
    assert all(item.score == 0 for item in result.items if item.fault is not None)


def test_eval_of_a_dead_endpoint_names_it_and_leaves_no_score(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    assert main(asked("http://127.0.0.1:9/v1", problems, tmp_path / "out")) == 2
    said = capsys.readouterr()
    assert "http://127.0.0.1:9/v1 cannot be reached" in said.err and "%" not in said.out
    assert time.monotonic() - began < 10 and not list(tmp_path.glob("out/*.json"))


def test_eval_goes_on_without_a_refused_field_and_says_so(
    tmp_path: Path, problems: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with served(Manners(refuses=("top_k",))) as url:
        assert main(asked(url, problems, tmp_path / "out")) == 0
    result = read_result(tmp_path / "out" / "aime2025.json")
    assert (result.errors, result.dropped) == (0, ("top_k",))
    assert "the endpoint refused top_k" in capsys.readouterr().out
    assert len([text for text in caplog.messages if "Unexpected fields" in text]) == 1


def test_eval_goes_on_after_a_sigkill_to_the_same_result(tmp_path: Path, problems: Path) -> None:
    with served(Manners(latency=lambda rng: 0.15)) as url:
        assert cli(*asked(url, problems, tmp_path / "whole")).returncode == 0
        process = start_cli(*asked(url, problems, tmp_path / "cut"))
        items = tmp_path / "cut" / "aime2025.items.jsonl"
        until = time.monotonic() + 60
        while not (items.exists() and items.read_text().count("\n") >= 6):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert items.read_text().count("\n") < 25
        again = cli(*asked(url, problems, tmp_path / "cut"))
    assert "done already" in again.stdout
    whole, cut = (read_result(tmp_path / name / "aime2025.json") for name in ("whole", "cut"))
    assert [(one.id, one.score, one.answer) for one in whole.items] == [(o.id, o.score, o.answer) for o in cut.items]
    assert (whole.setting, whole.score()) == (cut.setting, cut.score())


def test_eval_during_training_keeps_the_best_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pool, sides, run = tmp_path / "pool.parquet", tmp_path / "sides", tmp_path / "run"
    assert main(["design", "-n", "8", "--config", "scripted", *QUICK, "--seed", "5", "--out", str(pool)]) == 0
    assert main(["eval", "split", str(pool), "--share", "0.4", "--out", str(sides)]) == 0
    held = load_pool(sides / "heldout.parquet")
    documents = [{one.document_id for one in load_pool(sides / f"{name}.parquet")} for name in ("train", "heldout")]
    assert not documents[0] & documents[1]
    wanted = ["--set", "run.evaluate_every=2", "--set", f"eval.pool={sides / 'heldout.parquet'}"]
    wanted += ["--set", "eval.episodes=6", "--set", "run.cycles=5"]
    assert main(["train", "scripted", *QUICK, *wanted, "--run", str(run)]) == 0
    store = RunStore.read(run)
    scores = dict(store.metrics()["eval/heldout"])
    best, kept = store.best("eval/average"), set(store.checkpoints())
    store.close()
    assert list(scores) == [1, 3, 4]
    assert best == [max(scores, key=lambda cycle: (scores[cycle], -cycle))]
    assert kept == {4, *best}
    curve = read_curve(run)
    assert [point.cycle for point in curve.points] == [1, 3, 4]
    assert [curve.best.cycle] == best
    result = read_result(run / "evals" / "00004" / "heldout.json")
    assert (result.n, result.score().mean) == (6 * len(held), scores[4])
    assert (run / "evals" / "00004" / "heldout-hinted.json").exists()
    assert main(["eval", "curve", str(run)]) == 0
    assert f"best: cycle {best[0] + 1}, last: cycle 5" in capsys.readouterr().out
    again = ["eval", "heldout", "--run", str(run), "--checkpoint", "best", "--pool", str(sides / "heldout.parquet")]
    assert main([*again, "-n", "6", "--out", str(tmp_path / "again")]) == 0
    other = read_result(tmp_path / "again" / "heldout.json")
    assert other.score().mean == scores[best[0]], "a checkpoint scores as it did during training"
    assert main(["eval", "transfer", str(run), "--ages", "2", "-n", "2"]) == 0
    told = capsys.readouterr().out
    assert "start" in told
    assert "cycle 5" in told
