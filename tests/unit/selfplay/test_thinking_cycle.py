"""A model that thinks, through one whole cycle: its thoughts have a budget, and its template is like Qwen3's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import spadework
from spadework.build import build_play
from spadework.config import RunConfig
from spadework.domains.prompt_settings import configured_domain
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes, read_sequences
from spadework.selfplay.design.prompts import Brief, design_messages
from spadework.types import Episode, Message, TrainingRow

torch = pytest.importorskip("torch")

# Like Qwen3's: an empty thought stands in the prompt where thinking is off, and earlier thoughts are dropped.
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content.split('</think>')[-1].lstrip('\n') if m.role == 'assistant' else m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
GAME = '''\
class YesOrNoEnv:
    """Say yes."""

    max_turns = 1

    def reset(self, seed=None):
        return "Yes or no?", {}

    def step(self, action):
        return "Done.", float("yes" in action), True, False, {}

    def solution(self):
        return "yes"
'''
OPENING, CLOSING, BUDGET = "<think>\n", "\n</think>\n\n", 44
THOUGHT = ("\\boxed{yes} " * BUDGET)[: BUDGET - len(OPENING) - len(CLOSING)]
"""What the model thinks until its budget is used up: the tokens are bytes, and the marks are among them. The box that
it holds would win the game."""
ANSWERS = ("\\boxed{yes}", "\\boxed{no}", "I pass.")
STEPS = 100
"""Optimiser steps in which the model learns all that by heart."""
CONFIG = {
    "run": {"cycles": 1, "deterministic": True},
    "model": {"threads": 1, "slots": 16, "max_length": 1024},
    "corpus": {"enabled": False},
    "designer": {
        "environments": 1,
        "attempts": 1,
        "thinking": BUDGET,
        "max_tokens": 16,
        "temperature": 0.7,
        "skills": ["Logic"],
        "system_prompt": "You write games.",
        "prompt": "Write one. $skill $document $examples",
        "train_rejected": True,
    },
    "pool": {"seed_examples": False},
    "play": {"episodes": 12, "thinking": BUDGET, "max_tokens": 16, "temperature": 0.7, "system": "You answer."},
    "update": {"kl_rows": "all", "kl_coef": 0.01},
}


def teach(model: Any, tokenizer: Any, config: RunConfig) -> None:
    """Make the model think of one answer only, and then give each of three answers as often as the others."""
    design, _ = design_messages(config.designer, configured_domain(config), Brief("Logic", None), ())
    game = [*build_play(config).opening, Message(role="user", content="Yes or no?")]
    known = [(game, answer) for answer in ANSWERS] + [(design, ANSWERS[-1])]
    prompts = [tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True) for asked, _ in known]
    ends = [f"{OPENING}{THOUGHT}{CLOSING}{answer}<|im_end|>" for _, answer in known]
    batch = tokenizer(
        [prompt + end for prompt, end in zip(prompts, ends, strict=True)], return_tensors="pt", padding=True
    )
    labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
    for row, prompt in zip(labels, prompts, strict=True):
        row[: len(tokenizer.encode(prompt))] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 5e-3 * (1 - step / STEPS)
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunStore]:
    """One cycle of a run of that model."""
    from spadework.policies.local.tiny import build_tiny

    folder, threads = tmp_path_factory.mktemp("thinking"), torch.get_num_threads()
    torch.set_num_threads(1)
    model, tokenizer = build_tiny(0)
    tokenizer.chat_template = TEMPLATE
    (folder / "games").mkdir()
    (folder / "games" / "yes_or_no.py").write_text(GAME)
    places = {"model.name": str(folder / "model"), "pool.source": str(folder / "games")}
    config = spadework.read_config(CONFIG, {**places, "pool.mix": 0.5})
    teach(model, tokenizer, config)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    spadework.train(config, folder / "run")
    torch.set_num_threads(threads)
    store = RunStore.read(folder / "run")
    yield store
    store.close()


@pytest.fixture(scope="module")
def episodes(run: RunStore) -> list[Episode]:
    return [episode for file in run.episode_files() for episode in read_episodes(file)]


@pytest.fixture(scope="module")
def rows(run: RunStore) -> list[TrainingRow]:
    return [row for file in run.sequence_files() for row in read_sequences(file)]


def text(tokens: Any) -> str:
    from spadework.policies.local.tiny import build_byte_tokenizer

    return build_byte_tokenizer().decode(list(tokens))


def trained(row: TrainingRow) -> str:
    """What of a row was sampled."""
    return text(token for token, sampled in zip(row.tokens, row.loss_mask, strict=True) if sampled)


def test_thoughts_are_closed_at_the_budget_and_their_boxes_are_no_answers(episodes: list[Episode]) -> None:
    assert len(episodes) == 12
    turns = [turn for episode in episodes for turn in episode.turns]
    for turn in turns:
        thought, closed, answer = turn.reply.partition(CLOSING)
        assert closed and "\\boxed{yes}" in thought
        assert len(OPENING + THOUGHT) == len(thought), "the budget is used up to its last token"
        assert turn.action == (answer if "box" in answer else "")
        assert turn.reward == float(answer == ANSWERS[0])
    assert {turn.action for turn in turns} == {*ANSWERS[:2], ""}


def test_thought_and_answer_train_and_the_marks_do_not(episodes: list[Episode], rows: list[TrainingRow]) -> None:
    agent = {row.source_id: row for row in rows if row.role == "agent"}
    assert len(agent) == 12
    for episode in episodes:
        row, (turn,) = agent[episode.id], episode.turns
        thought, _, answer = turn.reply.removeprefix(OPENING).partition(CLOSING)
        assert trained(row).removesuffix("<|im_end|>") == thought + answer
        assert text(row.tokens).removesuffix("<|im_end|>").endswith(f"assistant\n{turn.reply}")
        assert all((value != 0.0) == sampled for value, sampled in zip(row.advantages, row.loss_mask, strict=True))


def test_a_design_thinks_within_its_budget_too(rows: list[TrainingRow]) -> None:
    (row,) = [row for row in rows if row.role == "designer"]
    _, _, reply = text(row.tokens).rpartition(f"assistant\n{OPENING}")
    thought, closed, answer = reply.partition(CLOSING)
    assert closed
    assert trained(row) == thought + answer
    assert sum(row.loss_mask) <= len(THOUGHT) + 16


def test_the_trainer_reads_the_rows_as_the_sampler_wrote_them(run: RunStore) -> None:
    (mismatch,) = [value for _, value in run.metrics()["train/logprob_mismatch"]]
    assert mismatch < 1e-3
