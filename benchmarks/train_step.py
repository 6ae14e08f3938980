"""One policy-gradient update: the local trainer against the plain way, same rows, type and threads.

The plain way is what most trainers do: rows sorted by length and padded to the longest of a micro-batch, logits of the
whole reply at once, autograd through log-softmax. Two batches: ``spread`` has unrelated rows, lengths 4 : 1; ``groups``
has plays that share their prompts. Every variant runs in a process of its own, for its peak memory.
TRL's GRPOTrainer is compared only where trl is installed.

    python benchmarks/train_step.py [--quick] [--json] [--threads 2]
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import multiprocessing
import random
import resource
import time
from typing import Any

from spadework.errors import ConfigError
from spadework.policies.base import Hyperparameters
from spadework.types import Sequence

HP = Hyperparameters(lr=1e-6)
MICRO_BATCH = 1024


def rows_of(kind: str, vocabulary: int, size: int) -> list[Sequence]:
    """``spread``: ``size`` rows of 100 to 400 tokens. ``groups``: ``size`` groups of 8 plays, prompt 250, reply 50."""
    rng = random.Random(0)

    def ids(count: int) -> list[int]:
        return [rng.randrange(3, vocabulary) for _ in range(count)]

    def row(prompt: list[int], reply: int) -> Sequence:
        mask = (False,) * len(prompt) + (True,) * reply
        advantage = rng.gauss(0, 1e-3)
        return Sequence(
            tokens=(*prompt, *ids(reply)),
            loss_mask=mask,
            logprobs=tuple(-10.0 * m for m in mask),
            advantages=tuple(advantage * m for m in mask),
            role="agent",
            group_id="",
            source_id="",
            policy_version=0,
        )

    if kind == "spread":
        return [row(ids(length // 2), length - length // 2) for length in (rng.randint(100, 400) for _ in range(size))]
    system = ids(200)
    return [row(system + question, 50) for question in (ids(50) for _ in range(size)) for _ in range(8)]


def ours(model: str, rows: list[Sequence], threads: int) -> Any:
    from spadework.policies.local import LocalOptions, load_local

    options = LocalOptions(threads=threads, slots=1, parked=0, micro_batch_tokens=MICRO_BATCH)
    _, trainer = load_local(model, run_seed=1, options=options)
    return lambda: asyncio.run(trainer.train(rows, HP))


def plain(model: str, rows: list[Sequence], threads: int) -> Any:
    import torch

    from spadework.policies.losses import surrogate_loss
    from spadework.policies.models import load_model, resolve_dtype

    torch.set_num_threads(threads)
    net: Any = load_model(model, seed=1).model
    low = resolve_dtype("auto") == torch.bfloat16
    optimizer = torch.optim.AdamW(net.parameters(), lr=HP.lr)
    ordered = sorted(rows, key=lambda row: len(row.tokens))

    def step() -> None:
        start = 0
        while start < len(ordered):
            stop = start + 1
            while stop < len(ordered) and (stop + 1 - start) * len(ordered[stop].tokens) <= MICRO_BATCH:
                stop += 1
            batch, start = ordered[start:stop], stop
            width = len(batch[-1].tokens)

            def padded(name: str, batch: list[Sequence] = batch, width: int = width) -> torch.Tensor:
                return torch.tensor([[*getattr(r, name), *[0] * (width - len(r.tokens))] for r in batch])

            ids, mask = padded("tokens"), padded("loss_mask").bool()
            present = torch.tensor([[1] * len(r.tokens) + [0] * (width - len(r.tokens)) for r in batch])
            keep = width - min(r.loss_mask.index(True) for r in batch) + 1
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                logits = net(input_ids=ids, attention_mask=present, use_cache=False, logits_to_keep=keep).logits[:, :-1]
            table = torch.log_softmax(logits.float(), -1)
            logprobs = table.gather(-1, ids[:, 1 - keep :, None])[..., 0]
            chosen = mask[:, 1 - keep :]
            new = logprobs[chosen]
            sampled, advantages = (padded(name)[:, 1 - keep :][chosen] for name in ("logprobs", "advantages"))
            surrogate_loss(new, new.detach(), sampled, advantages, HP).loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), HP.grad_clip)
        optimizer.step()
        optimizer.zero_grad()

    return step


def peak(queue: Any, variant: str, model: str, batch: tuple[str, int, int], threads: int, repeats: int) -> None:
    """In a process of its own: seconds of the best step, and peak memory in MB."""
    rows = rows_of(*batch)
    step = {"ours": ours, "plain": plain}[variant](model, rows, threads)
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - started)
    queue.put((best, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def run(variant: str, model: str, batch: tuple[str, int, int], threads: int, repeats: int) -> tuple[float, float]:
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    process = context.Process(target=peak, args=(queue, variant, model, batch, threads, repeats))
    process.start()
    result: tuple[float, float] = queue.get()
    process.join()
    return result


def has_smollm2() -> bool:
    from spadework.policies.models import smollm2_folder

    try:
        smollm2_folder()
    except ConfigError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 50 seconds: the tiny model only")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    models = [("tiny-random", 256, 1.4)]
    if not args.quick and has_smollm2():
        models.append(("smollm2-135m", 40_000, 1.15))
    figures: list[tuple[Any, ...]] = []
    for model, vocabulary, bar in models:
        for kind, size, least in (("spread", 8, bar), ("groups", 2, 1.5)):
            batch = (kind, vocabulary, size * (2 if model == "tiny-random" else 1))
            tokens = sum(len(row.tokens) for row in rows_of(*batch))
            found = {variant: run(variant, model, batch, args.threads, 3) for variant in ("ours", "plain")}
            name = f"train_step.{model}.{kind}"
            ratio = found["plain"][0] / found["ours"][0]
            memory = found["ours"][1] / found["plain"][1]
            figures += [
                (f"{name}.spadework", tokens / found["ours"][0], "tokens/s", None, None),
                (f"{name}.plain", tokens / found["plain"][0], "tokens/s", None, None),
                (f"{name}.ratio", ratio, "x", f">= {least}", ratio >= least),
                (f"{name}.peak_memory", found["ours"][1], "MB", None, None),
                (f"{name}.memory_ratio", memory, "x", "<= 0.8" if vocabulary > 256 else None, memory <= 0.8),
            ]
    for figure in figures:
        record = dict(zip(("name", "value", "unit", "bar", "ok"), figure, strict=True))
        print(json.dumps(record) if args.json else f"{figure[0]:48} {figure[1]:10.2f} {figure[2]:10} {figure[3] or ''}")
    if importlib.util.find_spec("trl") is None and not args.json:
        print("trl is not installed: its GRPOTrainer is not compared")


if __name__ == "__main__":
    main()
