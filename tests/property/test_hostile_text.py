"""Nothing that a program, a model or a file says can stop a run: whatever passes the door can be kept and shown."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spadework.config import RunConfig
from spadework.corpus.documents import parse_line
from spadework.envs.sandbox.base import Limits, Session, Step
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import ProgramError
from spadework.policies.base import Completion
from spadework.policies.local.tiny import build_byte_tokenizer
from spadework.policies.template import HFTemplate
from spadework.runs.cycle_record import CycleRecord
from spadework.runs.export import write_jsonl
from spadework.runs.reading import read_designs
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes
from spadework.text import clean, clean_json, decode, first_words, printable, word_ends
from spadework.types import Design, Environment, Episode, Fault, Turn, plain
from spadework.viewer.app import as_json

ANY = st.text(st.characters(exclude_categories=()))
"""Every code point, lone surrogates and NUL among them."""
MARKS = st.sampled_from(
    [
        *[
            "\ud83d",
            "\ude00",
            "\ud83d\ude00",
            "\0",
            "\ufeff",
            "\u2028",
            "\x85",
            "\x1b[2J",
            "\x1b]0;x\x07",
            "\u202e",
            "\r",
        ],
        *["<|im_end|>", "<|endoftext|>", "\ufdd0\ufdd1", "<think>", "</tool_call>", "\n"],
    ]
)
LONG = st.just("é" * 4_000)
TEXTS = st.lists(st.one_of(MARKS, ANY), max_size=6).map("".join)

ECHO = """
class EchoEnv:
    '''Says in every field what was planted.'''

    said = "hi"

    def plant(self, written):
        self.said = bytes.fromhex(written).decode("utf-8", "surrogatepass")
        return True

    def reset(self, seed=None):
        return self.said or "-", {self.said: [self.said]}

    def get_tools(self):
        return [{"type": "function", "function": {"name": self.said, "description": self.said, "parameters": {}}}]

    def step(self, action):
        if action == "raise":
            raise ValueError(self.said)
        return self.said, 0.5, False, False, {"echo": self.said}

    def solution(self):
        return self.said
"""


def encodable(value: Any) -> bool:
    """Whether plain data can be written as UTF-8 and holds no NUL."""
    text = json.dumps(value, ensure_ascii=False)
    return "\0" not in text and "\\u0000" not in text and text == text.encode().decode()


@given(TEXTS)
def test_clean_text_can_be_kept_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert decode(once.encode()) == once
    assert not once.startswith("\ufeff") and "\0" not in once
    if text.isprintable():
        assert once == text


@given(
    st.recursive(
        st.one_of(TEXTS, st.integers(), st.none()), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
    )
)
def test_clean_json_is_clean_all_through(value: Any) -> None:
    assert encodable(clean_json(value))


@given(TEXTS)
def test_a_terminal_obeys_nothing_that_is_printable(text: str) -> None:
    shown = printable(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069]", shown)
    assert printable(shown) == shown
    shown.encode()


@given(TEXTS, st.integers(1, 50))
def test_words_are_cut_off_and_nothing_else_changes(text: str, most: int) -> None:
    kept = first_words(text, most)
    assert text.startswith(kept)
    assert sum(1 for _ in word_ends(kept)) <= most
    assert len(kept) < len(text) or sum(1 for _ in word_ends(text)) <= most


@given(TEXTS)
def test_no_line_of_a_corpus_holds_what_cannot_be_kept(text: str) -> None:
    document = parse_line(json.dumps({"text": f"a{text}", "title": text, "id": text}).encode(), "0")
    assert document is not None
    assert encodable([document.text, document.id, document.meta])


async def act(session: Session, text: str) -> tuple[list[Step], list[Any], list[Fault]]:
    """Steps, plain data and faults of a program that says ``text`` wherever it can."""
    data: list[Any] = []
    faults: list[Fault] = []
    await session.call("plant", text.encode("utf-8", "surrogatepass").hex())
    steps = [await session.reset(1), await session.step("go")]
    steps += [step for episode in await session.play([(1, ["go"]), (2, ())]) for step in episode]
    data += [list(session.tools), [dict(step.info) for step in steps], await session.call("solution")]
    try:
        await session.step("raise")
    except ProgramError as error:
        faults.append(error.fault)
    return steps, data, faults


async def played(text: str) -> tuple[list[Step], list[Any], list[Fault]]:
    async with ProcessSandbox() as sandbox:
        session = await sandbox.open(ECHO, Limits(max_observation=1_000_000))
        try:
            return await act(session, text)
        finally:
            await session.close()


def stored(folder: Path, steps: list[Step], fault: Fault, reply: str) -> RunStore:
    """A run whose every text was said by the program or by the model, and which is opened again."""
    environment = Environment("e", ECHO, reply, reply, "games", reply, 0, 0, (reply,))
    turns = tuple(Turn(step.observation, reply, reply, 0.5) for step in steps)
    episode = Episode("0-e-u0", 0, "e", "unhinted", 0, 1, turns, (), "fault", 0.0, steps[-1].observation, fault)
    design = Design("d", 0, 0, 0, reply, reply, (reply,), reply, reply, ECHO, (), (str(fault),), fault=fault)
    store = RunStore.create(folder, RunConfig.model_validate({"model": {"name": "scripted"}}))
    record = CycleRecord(0, [environment], [design], episodes=[episode], metrics={"pool/size": 1.0})
    store.commit(record, checkpoint=None)
    store.close()
    return RunStore.read(folder)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(TEXTS, st.tuples(LONG, TEXTS, LONG).map("".join)))
def test_a_run_survives_whatever_its_program_and_its_model_say(tmp_path_factory: Any, text: str) -> None:
    folder = tmp_path_factory.mktemp("run")
    steps, data, faults = asyncio.run(played(text))
    assert encodable([[step.observation for step in steps], data, [plain(fault) for fault in faults]])
    (fault,) = faults
    store = stored(folder / "run", steps, fault, Completion(text, (), (), "stop", 0).text)
    try:
        (file,) = store.episode_files()
        (episode,) = read_episodes(file)
        (design,) = read_designs(store)
        assert [turn.observation for turn in episode.turns] == [step.observation for step in steps]
        assert (episode.fault, design.fault) == (fault, fault)
        assert write_jsonl(folder / "out.jsonl", [plain(episode)]) == 1
        assert len((folder / "out.jsonl").read_text("utf-8").split("\n")) == 2
        assert json.loads(as_json(plain(episode)))["id"] == episode.id
    finally:
        store.close()
    template = HFTemplate(build_byte_tokenizer())
    tools = data[0]
    opening = template.opening([{"role": "user", "content": steps[0].observation}], tools, "")
    ends = template.opening([{"role": "user", "content": "a"}], [{"type": "function"}], "")
    assert [token for token in opening if token >= 256] == [token for token in ends if token >= 256]
