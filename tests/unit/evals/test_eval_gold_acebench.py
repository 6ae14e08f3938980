"""ACEBench-Agent over synthetic rows in both formats: right plays pass, wrong ones fail, all through its own APIs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spadework.errors import ConfigError
from spadework.evals.registry import SuiteOptions
from spadework.evals.suites import acebench
from spadework.testing.scripted import ScriptedPolicy

needs_evalscope = pytest.mark.skipif(
    importlib.util.find_spec("evalscope") is None, reason="needs evalscope: docs/evals.md, packages"
)
FUNCTIONS = [
    {"name": "turn_on_wifi", "description": "Turns it on.", "arguments": {}},
    {"name": "delete_reminder", "description": "Deletes one.", "arguments": {"reminder_id": {"type": "integer"}}},
]
CONFIG = {"BaseApi": {"wifi": False, "logged_in": True}}
CALLS = (
    "[turn_on_wifi()]",
    "[delete_message(message_id=1), send_message(sender_name='Frank', receiver_name='Eve', message='Late')]",
)
SENT = {"message": "Late", "receiver_id": "USR100", "sender_id": "USR101"}


def row(category: str, number: int) -> dict:
    return {
        "id": f"{category}_{number}",
        "question": f"Tell Eve that Frank is late ({number}).",
        "function": FUNCTIONS,
        "initial_config": CONFIG,
        "involved_classes": ["MessageApi", "BaseApi"],
    }


def gold(category: str, number: int, inbox: dict) -> dict:
    truth = [{"MessageApi": {"wifi": True, "inbox": inbox}}, {"BaseApi": {"wifi": True, "logged_in": True}}]
    return {"id": f"{category}_{number}", "ground_truth": truth, "mile_stone": list(CALLS)}


def repository(folder: Path, inbox: dict) -> Path:
    """The layout of the benchmark's repository."""
    (folder / "possible_answer").mkdir(parents=True)
    for category in acebench.ROWS:
        numbers = range(2)
        lines = [json.dumps(row(category, number)) for number in numbers]
        answers = [json.dumps(gold(category, number, inbox)) for number in numbers]
        (folder / f"data_{category}.json").write_text("\n".join(lines) + "\n")
        (folder / "possible_answer" / f"data_{category}.json").write_text("\n".join(answers) + "\n")
    other = {"id": "normal_atom_bool_0", "question": "?", "function": []}
    (folder / "data_normal_atom_bool.json").write_text(json.dumps(other))
    return folder


def download(folder: Path, inbox: dict) -> Path:
    """The layout of the dataset on the hub: one Parquet file, nested values as JSON text."""
    rows = []
    for category in acebench.ROWS:
        plain = row(category, 0)
        nested = {name: json.dumps(plain[name]) for name in ("function", "initial_config", "involved_classes")}
        rubric = json.dumps(gold(category, 0, inbox))
        rows.append({**plain, **nested, "sub_category": f"data_{category}", "rubric": rubric})
    (folder / "en").mkdir(parents=True)
    (folder / "zh").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "en" / "agent-0.parquet")
    pq.write_table(pa.Table.from_pylist([{"id": "agent_multi_step_9"}]), folder / "zh" / "agent-0.parquet")
    return folder


def player(*lines: str) -> ScriptedPolicy:
    """Says one line after the other, whatever it hears, and the last one again and again."""
    left = list(lines)
    return ScriptedPolicy(lambda *_: left.pop(0) if len(left) > 1 else left[0])


@pytest.mark.parametrize("layout", [repository, download])
def test_both_layouts_are_read_and_counted(layout, tmp_path: Path) -> None:
    rows = acebench.load(layout(tmp_path / "data", {}))
    assert [one["category"] for one in rows] == sorted(one["category"] for one in rows)
    assert {one["category"] for one in rows} == set(acebench.ROWS)
    assert rows[0]["involved_classes"] == ["MessageApi", "BaseApi"] and rows[0]["ground_truth"][1]["BaseApi"]
    assert f"{len(rows) // 2} of 20 agent_multi_step" in acebench.check_data(tmp_path / "data")
    assert dict(acebench.texts(SuiteOptions(data=tmp_path / "data")))[rows[0]["id"]].startswith("Tell Eve")


def test_data_that_cannot_be_used_is_told_by_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="data-help"):
        acebench.load(tmp_path / "none")
    with pytest.raises(ConfigError, match="holds an agent task"):
        acebench.load(tmp_path)
    bad = row("agent_multi_step", 0)
    (tmp_path / "a.json").write_text(json.dumps(bad))
    with pytest.raises(ConfigError, match="gold end state"):
        acebench.load(tmp_path)
    del bad["initial_config"]
    (tmp_path / "a.json").write_text(json.dumps(bad))
    with pytest.raises(ConfigError, match=r"a.json: agent_multi_step_0 has no `initial_config`"):
        acebench.load(tmp_path)
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ConfigError, match="neither JSON"):
        acebench.load(tmp_path)
    with pytest.raises(ConfigError, match="--user-endpoint"):
        acebench.make("acebench", SuiteOptions(data=tmp_path))


@pytest.fixture
def suite(tmp_path: Path):
    from spadework.evals.harness.acebench import Scene

    scene = Scene.begin(row("agent_multi_step", 0), "agent_multi_step")
    for call in CALLS:
        scene.execute(call)
    inbox = json.loads(json.dumps(scene.world["MessageApi"].inbox))
    assert any(SENT.items() <= message.items() for message in inbox.values())
    options = SuiteOptions(data=repository(tmp_path / "data", inbox), user=player("Frank is late.", "Yes."))
    return acebench.make("acebench", options)


@needs_evalscope
@pytest.mark.parametrize("place", [0, 2])
async def test_gold_plays_pass_and_others_fail(suite, place: int) -> None:
    item = suite.items()[place]
    right = await suite.score(player(*CALLS, "finish conversation"), item, (0,))
    assert right.score == 1 and right.detail["finished"] and right.tokens
    assert right.detail["calls"] == 2 and right.detail["milestones"] == 1
    for lines in (CALLS[:1], CALLS[1:], ("I would rather not.",)):
        wrong = await suite.score(player(*lines, "finish conversation"), item, (0,))
        assert wrong.score == 0 and wrong.detail["why"], lines


@needs_evalscope
async def test_forty_messages_end_a_task_and_the_state_still_counts(suite) -> None:
    looping = await suite.score(player(*CALLS, "[get_latest_message_id()]"), suite.items()[0], (0,))
    assert looping.score == 1 and not looping.detail["finished"] and looping.detail["calls"] == 20
    talking = await suite.score(player("Hello?"), suite.items()[2], (0,))
    assert talking.score == 0 and talking.detail["calls"] == 0


@needs_evalscope
async def test_each_side_gets_its_own_prompt_and_no_message_is_run_as_code(suite, tmp_path: Path) -> None:
    heard = {"agent": [], "user": []}

    def script(name, *lines):
        left = list(lines)

        def say(messages, *_):
            heard[name].append([message["content"] for message in messages])
            return left.pop(0) if len(left) > 1 else left[0]

        return ScriptedPolicy(say)

    mark = tmp_path / "mark"
    code = f"[__import__('pathlib').Path('{mark}').touch(), _load_scenario(scenario={{}}), turn_on_wifi(x=1)]"
    suite._user = script("user", "Frank is late.", "Thanks. finish conversation")
    await suite.score(script("agent", code, "Done, anything else?"), suite.items()[2], (0,))
    assert not mark.exists()
    question = suite._rows[suite.items()[2].id]["question"]
    assert question in heard["user"][0][0] and question not in "".join(heard["agent"][0])
    assert "user:Frank is late." in heard["agent"][0][1]
    told = heard["agent"][1][1]
    assert "name '_load_scenario' is not defined" in told and "unexpected keyword argument 'x'" in told
    assert heard["user"][-1][-1] == "Done, anything else?"


@needs_evalscope
async def test_a_multi_step_agent_that_asks_is_told_not_to(suite) -> None:
    prompts = []

    def say(messages, *_):
        prompts.append(messages[-1]["content"])
        return "Which message?"

    await suite.score(ScriptedPolicy(say), suite.items()[0], (0,))
    from spadework.evals.harness.acebench import NUDGE

    assert NUDGE not in prompts[0] and f"execution result:{NUDGE}" in prompts[1] and "Which message" not in prompts[1]


@needs_evalscope
def test_a_message_too_deep_to_parse_calls_nothing() -> None:
    from spadework.evals.harness import acebench as harness

    assert not harness._calls_something("[f(x=" + "-" * 100_000 + "1)]")
