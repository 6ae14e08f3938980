"""The viewer's server over real runs: what it answers, and to whom."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.viewers import Viewer, train, viewing

from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes, read_sequences

pytest.importorskip("starlette", reason="needs the extra viewer")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [train(folder / "one"), train(folder / "two", "run.seed=1", "run.cycles=2")]


@pytest.fixture(scope="module")
def viewer(runs: list[Path]) -> Iterator[Viewer]:
    with viewing(*runs) as started:
        yield started


def test_only_loopback_with_the_secret_is_answered(viewer: Viewer) -> None:
    good = viewer.parts.path
    assert viewer.ask(good)[0] == 200
    assert len(good.strip("/")) >= 32
    wrong = ["/", "/api/version", "/static/app.css", f"/{'x' * len(good.strip('/'))}/", good[:-2] + "/", "/%C3%A9/"]
    assert {viewer.ask(path)[0] for path in wrong} == {404}
    for host in ("evil.example", "evil.example:80", f"127.0.0.1.evil.example:{viewer.parts.port}", ""):
        status, _, body = viewer.ask(good, headers={"Host": host})
        assert status == 421 and b"spadework</title>" not in body
    for outside in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "../../config.py"):
        assert viewer.ask(f"{good}static/{outside}")[0] in (404, 405)


def test_the_page_may_load_nothing_from_elsewhere(viewer: Viewer) -> None:
    status, headers, body = viewer.ask(viewer.parts.path)
    policy = headers["content-security-policy"]
    assert status == 200 and policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    assert "access-control-allow-origin" not in headers
    assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
    assert not re.findall(rb"(?:src|href)=\"(?:https?:)?//", body)


def test_overview_has_every_metric_and_what_differs(viewer: Viewer, runs: list[Path]) -> None:
    overview = viewer.get("overview")
    assert [run["name"] for run in overview["runs"]] == ["one", "two"]
    store = RunStore.read(runs[0])
    assert overview["runs"][0]["metrics"] == json.loads(json.dumps(store.metrics()))
    store.close()
    assert overview["settings"]["rows"] == [
        {"key": "run.seed", "values": ["0", "1"]},
        {"key": "run.cycles", "values": ["4", "2"]},
    ]


def test_environments_are_sorted_filtered_and_opened(viewer: Viewer) -> None:
    best = viewer.get("environments", run=0, sort="unhinted", desc=1)["rows"]
    rates = [row["unhinted"] for row in best]
    assert rates == sorted(rates, reverse=True) and len(rates) == 8
    assert {row["state"] for row in best} == {"in pool", "replaced"}
    assert viewer.get("environments", run=0, search=best[0]["id"])["total"] == 1
    rejected = viewer.get("environments", run=0, state="rejected")["rows"]
    assert rejected and all(row["why"].startswith("ENV") for row in rejected)
    child = next(row for row in best if row["parents"])
    opened = viewer.get("environment", run=0, id=child["id"])
    assert opened["ancestors"][0][0]["id"] in child["parents"]
    assert "class Sums" in "".join(text for _, text in opened["source"])
    assert opened["hint"] and opened["plays"] and {play["arm"] for play in opened["plays"]} == {"hinted", "unhinted"}
    parent = viewer.get("environment", run=0, id=child["parents"][0])
    assert child["id"] in [one["id"] for one in parent["descendants"][0]]
    assert opened["grounding"] and opened["grounding"] in viewer.get("design", run=0, id=child["design"])["prompt"]
    known = viewer.get("points", run=0)
    assert list(known["kinds"])[-1] == "tfidf" and known["ways"][-1] == "PCA"
    for way in ("t-SNE", "PCA"):
        mapped = viewer.get("likeness", run=0, kind="tfidf", way=way)
        assert (mapped["kind"], mapped["way"]) == ("tfidf", way)
        assert set(mapped["points"]) == {point["id"] for point in known["points"]}


def test_episodes_are_the_stored_ones(viewer: Viewer, runs: list[Path]) -> None:
    stored = {e.id: e for path in sorted((runs[0] / "episodes").iterdir()) for e in read_episodes(path)}
    listed = viewer.get("episodes", run=0, limit=500)
    assert listed["total"] == len(stored) == len(listed["rows"])
    assert {row["id"]: row["turns"] for row in listed["rows"]} == {name: len(e.turns) for name, e in stored.items()}
    won = viewer.get("episodes", run=0, result="win", arm="hinted", sort="seed", limit=500)["rows"]
    assert [r["seed"] for r in won] == sorted(e.seed for e in stored.values() if e.win and e.arm == "hinted")
    assert viewer.get("episodes", run=0, cycle=3, limit=500)["total"] == sum(e.cycle == 3 for e in stored.values())
    rows = {row.source_id: row for row in read_sequences(sorted((runs[0] / "sequences").iterdir())[0])}
    name = next(name for name in rows if name in stored)
    shown = viewer.get("episode", run=0, id=name)
    (segment,) = viewer.get("episode-tokens", run=0, id=name)["segments"]
    assert shown["sampled"] == sum(segment["sampled"])
    assert shown["turns"][0]["reply"] == stored[name].turns[0].reply
    assert segment["advantages"] == list(rows[name].advantages)
    sampled = "".join(text for text, own in zip(segment["texts"], segment["sampled"], strict=True) if own)
    assert sampled.startswith(stored[name].turns[0].reply)
    other = next(o for o in shown["partners"] if (o["arm"], o["index"]) == ("hinted", shown["index"]))
    assert viewer.get("episode", run=0, id=other["id"])["seed"] == shown["seed"]


def test_attempts_are_counted_by_reason_and_shown_with_their_prompt(viewer: Viewer) -> None:
    reasons = {one["reason"]: one for one in viewer.get("rejections", run=0)["reasons"]}
    broken = reasons["ENV001"]
    assert broken["title"] and viewer.get("designs", run=0, reason="ENV001")["total"] == broken["count"]
    design = viewer.get("design", run=0, id=broken["examples"][-1]["id"])
    assert "<document>" in design["prompt"] and design["findings"][0].startswith("ENV001")
    paid = next(row for row in viewer.get("designs", run=0, reason="accepted")["rows"] if row["cycle"] == 0)
    shown = viewer.get("design", run=0, id=paid["id"])
    assert shown["score"]["cycle"] == 1
    segments = viewer.get("design-tokens", run=0, id=paid["id"])["segments"]
    assert not segments or any(segments[0]["advantages"])


@pytest.mark.parametrize("page", ["environment", "episode", "episode-tokens", "design"])
@pytest.mark.parametrize("name", ["", "nothing", "../../run", "99-x-u0", "-1-x-u0", "' OR 1=1 --"])
def test_what_is_not_there_is_not_found(viewer: Viewer, page: str, name: str) -> None:
    from urllib.parse import urlencode

    assert viewer.ask(f"{viewer.parts.path}api/{page}?{urlencode({'run': 0, 'id': name})}")[0] == 404


def test_a_person_plays_in_the_sandbox(viewer: Viewer) -> None:
    row = viewer.get("environments", run=0)["rows"][0]
    opened = viewer.post("play", run=0, id=row["id"], seed=3, hinted=True)
    assert "HINT: " in opened["observation"] and opened["max_turns"] == 2
    first = viewer.post("step", game=opened["game"], answer="0")
    assert (first["action"], first["reward"], first["ended"]) == ("\\boxed{0}", 0.0, "")
    assert first["changes"] == [{"where": "turn", "before": 0, "after": 1}]
    total = sum(map(int, re.findall(r"\d+", opened["observation"].splitlines()[0])))
    last = viewer.post("step", game=opened["game"], answer=str(total))
    assert (last["reward"], last["ended"]) == (1.0, "terminated")
    assert viewer.post("step", game=opened["game"], answer="1")["fault"]["code"] == "gone"
    assert viewer.ask(f"{viewer.parts.path}api/play", {"run": 9})[0] == 400


def test_an_episode_is_shown_in_pieces_and_its_states_on_demand(viewer: Viewer) -> None:
    row = viewer.get("episodes", run=0)["rows"][0]
    shown = viewer.get("episode", run=0, id=row["id"])
    answers = [turn["action"].removeprefix("\\boxed{").removesuffix("}") for turn in shown["turns"]]
    assert [[piece["text"] for piece in turn["shown"]] for turn in shown["turns"]] == [[answer] for answer in answers]
    steps = viewer.post("watch", run=0, id=row["id"])["steps"]
    assert len(steps) == 1 + len(shown["turns"]) and steps[0]["state"]["turn"] == 0
    assert all({"where": "turn", "before": n, "after": n + 1} in step["changes"] for n, step in enumerate(steps[1:]))
    assert viewer.ask(f"{viewer.parts.path}api/watch", {"run": 0, "id": "nothing"})[0] == 404


def test_the_panel_plays_on_demand(viewer: Viewer) -> None:
    row = viewer.get("environments", run=0)["rows"][0]
    checked = viewer.post("check", run=0, id=row["id"])
    assert checked["statistics"]["win_rates"]["oracle"] == 1.0
    assert checked["statistics"]["win_rates"]["no-op"] == 0.0


def test_a_result_file_is_shown_and_a_broken_one_named(viewer: Viewer, runs: list[Path]) -> None:
    assert viewer.get("evaluation")["rows"] == []
    folder = runs[0] / "evals" / "00003"
    folder.mkdir(parents=True)
    score = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 10}
    result = {"setting": {"preset": "paper"}, "score": score, "groups": {"a": score}, "n": 10, "errors": 1}
    (folder / "held_out.json").write_text(json.dumps(result))
    (folder / "torn.json").write_text("{")
    found = {row["suite"]: row for row in viewer.get("evaluation")["rows"]}
    assert found["held_out"]["score"] == score and found["held_out"]["cycle"] == 3
    assert "torn.json" in found["torn"]["problem"]
    assert viewer.get("evaluation")["paper"][0]["score"] == 0.474


def test_a_commit_is_seen(viewer: Viewer, runs: list[Path]) -> None:
    before = [run["cycles"] for run in viewer.get("version")["runs"]]
    assert before == [4, 2] and viewer.get("environments", run=1)["total"] == 4
    with sqlite3.connect(runs[1] / "run.sqlite") as database:
        database.execute("INSERT INTO metrics VALUES (2, 'pool/size', 3)")
        database.execute("INSERT INTO environments SELECT 'late', 2, skill, domain, document_id, designer_version, parents,"
                         " NULL, sha256, source, hint FROM environments LIMIT 1")  # fmt: skip
    assert viewer.get("version")["runs"][1]["cycles"] == 3
    assert viewer.get("environments", run=1, search="late")["rows"][0]["state"] == "waiting"
