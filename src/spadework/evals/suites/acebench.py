"""ACEBench-Agent: multi-step and multi-turn tasks with simulated APIs, scored by the APIs' final state."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from spadework.envs.actions import strip_thinking
from spadework.errors import ConfigError
from spadework.evals.harness_policy import HarnessPolicy
from spadework.evals.packages import INSTALL, require
from spadework.evals.records import Item, Outcome, Setting, tries
from spadework.evals.registry import Preset, SuiteInfo, SuiteOptions, chosen_preset, sampling_settings, versions
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.text import decode
from spadework.types import Key

VERSION = "1.14.1"
ROWS = {"agent_multi_step": 20, "agent_multi_turn": 30}
_DECODED = ("function", "initial_config", "involved_classes")

INFO = SuiteInfo(
    summary="ACEBench-Agent (English): 20 multi-step and 30 multi-turn tasks, end-to-end accuracy",
    presets={
        "paper": Preset(
            SamplingParams(max_tokens=4_096, temperature=0.7),
            extra={"steps": 40, "user_temperature": 0.001, "user_max_tokens": 1_000},
        )
    },
    data_help=f"""\
A folder, either `data_all/data_en` of the ACEBench repository (data_agent_multi_step.json, data_agent_multi_turn.json,
and files of the same names under possible_answer/), or the dataset `evalscope/acebench` of ModelScope as it is
downloaded (JSON lines or Parquet; columns `id`, `question`, `function`, `initial_config`, `involved_classes` and
`rubric`).
Prompts, APIs and checker are those of the package evalscope: {INSTALL}.
A second model plays the user of the multi-turn tasks.""",
    needs_data=True,
)


def make(name: str, options: SuiteOptions) -> AceBench:
    """Open the suite. Raises ``ConfigError`` when the data, the package or the user's model is missing."""
    if options.user is None:
        raise ConfigError(
            f"{name}: a second model must play the simulated user: give --user-endpoint URL and --user-model NAME"
        )
    return AceBench(name, options, options.user)


def texts(options: SuiteOptions) -> Iterator[tuple[str, str]]:
    """Each task's request as (id, text), for the contamination check."""
    if options.data is not None:
        yield from ((row["id"], row["question"]) for row in load(options.data))


def check_data(path: Path) -> str:
    """Describe the contents of a user's folder. Raises ``ConfigError`` where it cannot be used."""
    counts = Counter(row["category"] for row in load(path))
    found = ", ".join(f"{counts[name]} of {total} {name}" for name, total in ROWS.items())
    return f"{path}: {found} tasks"


class AceBench:
    """The benchmark. A task scores 1 when all graded state of its APIs is right."""

    def __init__(self, name: str, options: SuiteOptions, user: Policy) -> None:
        require("evalscope", VERSION, ())
        from spadework.evals.harness import acebench

        assert options.data is not None
        self._harness, self._user = acebench, user
        preset = chosen_preset(INFO, options)
        self._sampling, self._extra, self._trials = preset.sampling, dict(preset.extra), preset.trials
        self._rows = {row["id"]: row for row in load(options.data)}
        digest = hashlib.sha256(json.dumps(self._rows, sort_keys=True).encode()).hexdigest()
        self.setting = Setting(
            name,
            options.preset,
            sampling_settings(preset),
            versions("evalscope"),
            aggregate="groups",
            data=f"{options.data.name} sha256 {digest}",
            notes=(
                f"the user is played by {options.user_name or 'a model without a name'}",
                "the simulated user's own lines are marked as the assistant's, not as the system's",
            ),
        )

    def items(self) -> Sequence[Item]:
        """Multi-step tasks, then multi-turn ones; the tries at one task follow each other."""
        return [
            item
            for row in self._rows.values()
            for item in tries(row["id"], row["category"].removeprefix("agent_"), self._trials)
        ]

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Play one task and grade its final state."""
        row = self._rows[item.unit]
        scene = self._harness.Scene.begin(row, row["category"])
        agent = HarnessPolicy(policy, self._sampling, (*key, 0))
        user = HarnessPolicy(self._user, self._user_sampling(), (*key, 1))
        with policy.attend():
            await self._harness.play(scene, _asked(agent), _asked(user), int(self._extra["steps"]))
        right, process, why = scene.graded(row["ground_truth"], row["mile_stone"])
        return Outcome(
            score=float(right),
            answer=(scene.calls or [""])[-1][:300],
            tokens=agent.tokens,
            detail={"calls": len(scene.calls), "milestones": process, "finished": scene.finished, "why": why[:300]},
        )

    async def close(self) -> None:
        """Nothing to close; the user's model belongs to the caller."""

    def _user_sampling(self) -> SamplingParams:
        return SamplingParams(int(self._extra["user_max_tokens"]), temperature=float(self._extra["user_temperature"]))


def _asked(speaker: HarnessPolicy) -> Any:
    """Adapt a policy to the loop's ``Ask``: it takes (role, text) pairs and returns a reply without thinking."""

    async def ask(messages: list[tuple[str, str]]) -> str:
        history = [Message(role=role, content=text) for role, text in messages]  # type: ignore[typeddict-item]
        return strip_thinking((await speaker.reply(history)).raw).strip()

    return ask


def load(folder: Path) -> list[dict[str, Any]]:
    """The English agent tasks under a folder, each with its gold final state. Raises ``ConfigError``."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder; see `spadework eval --data-help acebench`")
    rows: dict[str, dict[str, Any]] = {}
    gold: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.suffix not in (".json", ".jsonl", ".parquet") or {"zh", "data_zh"} & set(parts):
            continue
        for row in _rows_of(path):
            if (category := _category(row)) not in ROWS:
                continue
            if "possible_answer" in parts:
                gold[str(row["id"])] = row
            else:
                rows[str(row["id"])] = _task(row, category, path)
    tasks = [{**row, **_gold(row, gold, folder)} for row in rows.values()]
    if not tasks:
        raise ConfigError(f"{folder}: no file in it holds an agent task; see `spadework eval --data-help acebench`")
    return sorted(tasks, key=lambda row: (row["category"], _last_number(row["id"])))


def _rows_of(path: Path) -> list[Mapping[str, Any]]:
    try:
        if path.suffix == ".parquet":
            return list(pq.read_table(path).to_pylist())
        text = decode(path.read_bytes())
        rows = (
            json.loads(text)
            if text.lstrip().startswith("[")
            else [json.loads(x) for x in text.split("\n") if x.strip()]
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: the file is neither JSON lines nor Parquet: {error}") from None
    return [row for row in rows if isinstance(row, dict) and "id" in row]


def _category(row: Mapping[str, Any]) -> str:
    return str(row.get("sub_category") or re.sub(r"(_\d+)+$", "", str(row["id"]))).removeprefix("data_")


def _task(row: Mapping[str, Any], category: str, path: Path) -> dict[str, Any]:
    missing = [name for name in ("question", *_DECODED) if row.get(name) is None]
    if missing:
        raise ConfigError(f"{path}: {row['id']} has no `{missing[0]}`; see `spadework eval --data-help acebench`")
    decoded = {name: _decoded(row[name]) for name in _DECODED}
    task = {"id": str(row["id"]), "category": category, "question": str(row["question"]), **decoded}
    return {**task, "rubric": _decoded(row.get("rubric"))}


def _gold(task: Mapping[str, Any], answers: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found = answers.get(task["id"]) or task["rubric"]
    if not found or "ground_truth" not in found:
        raise ConfigError(
            f"{folder}: {task['id']} has no gold end state: it has no `rubric`, and no row in possible_answer/"
        )
    return {"ground_truth": _decoded(found["ground_truth"]), "mile_stone": _decoded(found.get("mile_stone")) or []}


def _decoded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _last_number(name: str) -> int:
    return int((re.findall(r"\d+", name) or ["0"])[-1])
