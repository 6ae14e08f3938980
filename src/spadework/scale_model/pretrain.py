"""Supervised pretraining of the scale model on rows that rules generate (``lessons``).

The rows of a step depend on the seed and the step alone, and the state is saved every so many steps, so that a build
that was stopped goes on where it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Row = tuple[Sequence[int], Sequence[bool]]
"""Token ids, and which of them are taught."""
DrawRows = Callable[[int], tuple[list[Row], list[Row]]]
"""From the number of a step to its rows: plays and designs."""
OnStep = Callable[[int, float, float], None]
"""Called with the steps done, the loss a token of the plays, and that of the designs."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Number of steps, learning rates and batch size of the pretraining."""

    steps: int
    muon_lr: float = 0.02
    """Learning rate of the matrices between embedding and head."""
    adam_lr: float = 3e-3
    """Learning rate of all other weights."""
    ramp: float = 0.02
    """Share of the steps in which the rate rises to its full value."""
    decay: float = 0.5
    """Share of the steps, at the end, in which the rate falls to 0."""
    micro_batch_tokens: int = 768
    """Tokens of one forward and backward pass, padding included."""
    save_every: int = 100

    def rate(self, step: int) -> float:
        """Share of the full rate at a step."""
        up = (step + 1) / max(1, self.ramp * self.steps)
        down = (self.steps - step) / max(1, self.decay * self.steps)
        return min(1.0, up, down)


def use_threads(threads: int) -> None:
    """Set torch's CPU threads."""
    torch.set_num_threads(threads)


def pretrain(model: Any, draw: DrawRows, schedule: Schedule, state: Path, on_step: OnStep) -> None:
    """Fit ``model`` in place. ``state`` is the file in which an unfinished build is kept."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    known = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in known]
    optimizers = [
        torch.optim.Muon(matrices, lr=schedule.muon_lr, weight_decay=0.01, momentum=0.95),
        torch.optim.AdamW(others, lr=schedule.adam_lr, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]
    full = (schedule.muon_lr, schedule.adam_lr)
    model.train()
    for step in range(_load(state, model, optimizers), schedule.steps):
        losses = [_backward(model, rows, schedule.micro_batch_tokens) for rows in draw(step)]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, lr in zip(optimizers, full, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = lr * schedule.rate(step)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        on_step(step + 1, *losses)
        if (step + 1) % schedule.save_every == 0:
            _save(state, step + 1, model, optimizers)
    model.eval()


def _backward(model: Any, rows: Sequence[Row], budget: int) -> float:
    """Add the gradient of the mean cross-entropy of the taught tokens of ``rows``; returns that mean."""
    count, total = sum(sum(taught) for _, taught in rows), 0.0
    for ids, taught in _batches(rows, budget):
        hidden = model.get_decoder()(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
        chosen = taught[:, 1:]
        logits = model.get_output_embeddings()(hidden[chosen])
        loss = functional.cross_entropy(logits, ids[:, 1:][chosen], reduction="sum") / count
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    return total


def _batches(rows: Sequence[Row], budget: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of ids and masks, [rows, length] each, of rows of similar length.

    Rows are padded on the right: with causal attention no taught token sees the padding, so it needs no mask.
    """
    ordered = sorted(rows, key=lambda row: len(row[0]))
    while ordered:
        count = max(1, budget // len(ordered[-1][0]))
        part, ordered = ordered[-count:], ordered[:-count]
        width = len(part[-1][0])
        ids = torch.zeros(len(part), width, dtype=torch.long)
        mask = torch.zeros(len(part), width, dtype=torch.bool)
        for place, (tokens, taught) in enumerate(part):
            ids[place, : len(tokens)] = torch.tensor(tokens)
            mask[place, : len(tokens)] = torch.tensor(taught)
        yield ids, mask


def _save(path: Path, step: int, model: Any, optimizers: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.tmp")
    torch.save({"step": step, "model": model.state_dict(), "optimizers": [o.state_dict() for o in optimizers]}, aside)
    os.replace(aside, path)


def _load(path: Path, model: Any, optimizers: Sequence[Any]) -> int:
    """Load an unfinished build; returns its steps done, 0 without one."""
    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return int(state["step"])
