"""One policy-gradient update: the local trainer against TRL's GRPOTrainer, same rows, model, type, threads.

TRL computes its loss, backward and optimiser step alone, without sampling; so does ours. Two batches: ``spread`` has
unrelated rows, lengths 4 : 1; ``groups`` has plays that share their prompts. Each side lives in a process of its own,
for its peak memory, and steps are taken in turns, so that both see the same load; the fastest step of each counts.

    pip install 'spadework[local]' trl
    python benchmarks/train_step.py [--quick] [--json]

Where trl is not installed, the reference is a plain padded transformers step, named so, and nothing is held to a bar:
rows sorted by length, logits of the whole reply at once, autograd through log-softmax.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from figures import Figure, least, most, report, told

from spadework.errors import ConfigError
from spadework.policies.base import Hyperparameters
from spadework.types import TrainingRow

HP = Hyperparameters(lr=1e-6)
MICRO_BATCH = 1024
"""Tokens; TRL takes as many rows as have so many on average."""


@dataclass(frozen=True)
class Case:
    """A model and a batch; ``bar`` is the speed-up to reach, ``threads`` what the shipped configs give the model."""

    model: str
    kind: str
    size: int
    vocabulary: int
    threads: int
    bar: float

    def rows(self) -> list[TrainingRow]:
        """``spread``: rows of 100 to 400 tokens. ``groups``: groups of 8 plays, prompt 250, reply 50."""
        rng = random.Random(0)

        def ids(count: int) -> list[int]:
            return [rng.randrange(3, self.vocabulary) for _ in range(count)]

        if self.kind == "spread":
            lengths = [rng.randint(100, 400) for _ in range(self.size)]
            return [_row(rng, ids(length // 2), ids(length - length // 2)) for length in lengths]
        system = ids(200)
        prompts = [system + ids(50) for _ in range(self.size)]
        return [_row(rng, prompt, ids(50)) for prompt in prompts for _ in range(8)]


def _row(rng: random.Random, prompt: list[int], reply: list[int]) -> TrainingRow:
    mask = (False,) * len(prompt) + (True,) * len(reply)
    advantage = rng.gauss(0, 1e-3)
    return TrainingRow(
        tokens=(*prompt, *reply),
        loss_mask=mask,
        logprobs=tuple(-10.0 * m for m in mask),
        advantages=tuple(advantage * m for m in mask),
        role="agent",
        group_id="",
        source_id="",
        policy_version=0,
    )


def spadework(loaded: Any, rows: list[TrainingRow]) -> Callable[[], Any]:
    from spadework.policies.local.options import LocalOptions
    from spadework.policies.local.training.trainer import LocalTrainer

    silent: Any = None  # the sampler, which an update does not touch
    trainer = LocalTrainer(loaded.model, silent, LocalOptions(micro_batch_tokens=MICRO_BATCH), lambda: loaded)
    return lambda: trainer.update(True, rows, HP)


def trl(loaded: Any, rows: list[TrainingRow]) -> Callable[[], Any]:
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from spadework.policies.local.models import resolve_dtype

    tokenizer = loaded.tokenizer
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    size = max(1, MICRO_BATCH * len(rows) // sum(len(row.tokens) for row in rows))
    settings = GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=8,
        use_cpu=True,
        bf16=resolve_dtype("auto") == torch.bfloat16,
        gradient_checkpointing=False,
        report_to=[],
    )
    data = Dataset.from_dict({"prompt": ["unused"] * 8})
    trainer = GRPOTrainer(
        loaded.model, lambda completions, **_: [0.0] * len(completions), settings, data, processing_class=tokenizer
    )
    net: Any = trainer.model
    net.train()
    trainer.current_gradient_accumulation_steps = 1
    optimizer = torch.optim.AdamW(net.parameters(), lr=HP.lr, betas=HP.betas, fused=True)
    batches = [_padded(rows[start : start + size]) for start in range(0, len(rows), size)]

    def step() -> None:
        for batch in batches:
            trainer.compute_loss(net, batch).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), HP.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def _padded(rows: list[TrainingRow]) -> dict[str, Any]:
    """TRL's batch: prompts padded on the left, replies on the right."""
    import torch

    splits = [row.loss_mask.index(True) for row in rows]
    prompts = [row.tokens[:split] for row, split in zip(rows, splits, strict=True)]
    replies = [row.tokens[split:] for row, split in zip(rows, splits, strict=True)]
    wide, long = max(map(len, prompts)), max(map(len, replies))
    return {
        "prompt_ids": torch.tensor([[*[0] * (wide - len(p)), *p] for p in prompts]),
        "prompt_mask": torch.tensor([[*[0] * (wide - len(p)), *[1] * len(p)] for p in prompts]),
        "completion_ids": torch.tensor([[*r, *[0] * (long - len(r))] for r in replies]),
        "completion_mask": torch.tensor([[*[1] * len(r), *[0] * (long - len(r))] for r in replies]),
        "advantages": torch.tensor([row.advantages[-1] for row in rows]),
        "num_items_in_batch": torch.tensor(float(sum(map(len, replies)))),
    }


def plain(loaded: Any, rows: list[TrainingRow]) -> Callable[[], Any]:
    import torch

    from spadework.policies.local.models import resolve_dtype
    from spadework.policies.local.training.losses import surrogate_loss

    net, ordered = loaded.model, sorted(rows, key=lambda row: len(row.tokens))
    low = resolve_dtype("auto") == torch.bfloat16
    optimizer = torch.optim.AdamW(net.parameters(), lr=HP.lr, fused=True)
    size = max(1, MICRO_BATCH * len(rows) // sum(len(row.tokens) for row in rows))
    batches = [_padded(ordered[start : start + size]) for start in range(0, len(ordered), size)]

    def step() -> None:
        for batch in batches:
            ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
            present = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
            keep, mask = batch["completion_ids"].shape[1], batch["completion_mask"].bool()
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                logits = net(input_ids=ids, attention_mask=present, use_cache=False, logits_to_keep=keep + 1).logits
            table = torch.log_softmax(logits[:, :-1].float(), -1)
            new = table.gather(-1, batch["completion_ids"][..., None])[..., 0][mask]
            advantages = batch["advantages"][:, None].expand(mask.shape)[mask]
            rows = mask.nonzero()[:, 0]
            surrogate_loss(new, new.detach(), torch.full_like(new, -10.0), advantages, rows, HP).loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), HP.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


SIDES = {"spadework": spadework, "trl": trl, "plain": plain}


def side(pipe: Any, name: str, case: Case) -> None:
    """In a process of its own: seconds of a step at every ``True``, then MB at the peak above what imports took."""
    import torch
    import torch._dynamo  # optimisers import it at their first step
    import transformers.models.llama.modeling_llama
    import transformers.models.qwen3.modeling_qwen3  # noqa: F401

    import spadework.policies.local.training.trainer  # noqa: F401
    from spadework.policies.local.models import load_model

    if name == "trl":
        import trl.trainer.grpo_trainer  # noqa: F401
    torch.set_num_threads(case.threads)
    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step = SIDES[name](load_model(case.model, seed=1), case.rows())
    while pipe.recv():
        started = time.perf_counter()
        step()
        pipe.send(time.perf_counter() - started)
    pipe.send((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - imported) / 1024)


def in_turns(case: Case, names: tuple[str, ...], steps: int) -> dict[str, tuple[float, float]]:
    """Seconds of the fastest step and peak MB of each side."""
    context = multiprocessing.get_context("spawn")
    pipes, best = {}, dict.fromkeys(names, float("inf"))
    for name in names:
        pipes[name], theirs = context.Pipe()
        context.Process(target=side, args=(theirs, name, case), daemon=True).start()
    for _ in range(steps):
        for name, pipe in pipes.items():
            pipe.send(True)
            best[name] = min(best[name], pipe.recv())
    for pipe in pipes.values():
        pipe.send(False)
    return {name: (best[name], pipe.recv()) for name, pipe in pipes.items()}


def matmul_peak(threads: int) -> float:
    """Multiplications and additions a second of a large matrix product in the type of training."""
    import torch

    from spadework.policies.local.models import resolve_dtype

    torch.set_num_threads(threads)
    matrix, best = torch.randn(1536, 1536).to(resolve_dtype("auto")), float("inf")
    for _ in range(8):
        started = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - started)
    return float(2 * 1536**3 / best)


def step_operations(case: Case) -> float:
    """Of the matrix products of one update with nothing shared: 6 a weight and token, in the head a trained token."""
    from torch import nn

    from spadework.policies.local.models import load_model

    model: Any = load_model(case.model, seed=1).model
    head = model.get_output_embeddings()
    body = sum(part.weight.numel() for part in model.modules() if isinstance(part, nn.Linear) and part is not head)
    rows = case.rows()
    tokens, trained = sum(len(row.tokens) for row in rows), sum(sum(row.loss_mask) for row in rows)
    return float(6 * (body * tokens + head.weight.numel() * trained))


def has_smollm2() -> bool:
    from spadework.policies.local.models import smollm2_folder

    try:
        smollm2_folder()
    except ConfigError:
        return False
    return True


def measure(quick: bool) -> Iterator[Figure]:
    other = "trl" if importlib.util.find_spec("trl") else "plain"
    cases = [Case("tiny-random", "spread", 16, 256, 1, 1.4), Case("tiny-random", "groups", 4, 256, 1, 1.5)]
    if not quick and has_smollm2():
        cases += [Case("smollm2-135m", "spread", 8, 40_000, 2, 1.15), Case("smollm2-135m", "groups", 2, 40_000, 2, 1.5)]
    for case in cases:
        tokens = sum(len(row.tokens) for row in case.rows())
        found = in_turns(case, ("spadework", other), 8 if case.vocabulary == 256 else 4)
        (ours, memory), (theirs, their_memory) = found["spadework"], found[other]
        name = f"train_step.{case.model}.{case.kind}"
        yield told(f"{name}.spadework", tokens / ours, "tokens/s")
        yield told(f"{name}.{other}", tokens / theirs, "tokens/s")
        yield told(f"{name}.spadework_peak", memory, "MB")
        yield told(f"{name}.{other}_peak", their_memory, "MB")
        speed, share = (f"{name}.speed_over_{other}", f"{name}.memory_over_{other}")
        held = other == "trl"
        yield least(speed, theirs / ours, "x", case.bar) if held else told(speed, theirs / ours, "x")
        # What a tiny model needs is lost in what the libraries themselves take at the first step.
        large = held and case.vocabulary > 256
        yield most(share, memory / their_memory, "x", 0.8) if large else told(share, memory / their_memory, "x")
        if case.kind == "spread":
            yield told(f"{name}.share_of_matmul_peak", step_operations(case) / ours / matmul_peak(case.threads), "")


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
