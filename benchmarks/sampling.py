"""Tokens per second of the embedded sampler against transformers' ``generate``, on the same prompts.

Replies have mixed lengths, as plays and designs do: ``generate`` runs every batch to its longest reply and reads every
prompt whole, the sampler refills its slots and reads shared prefixes once. Same weights, type, threads and temperature;
only tokens that someone asked for are counted.

    python benchmarks/sampling.py [--quick] [--json] [--threads 2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from typing import Any

import torch

from spadework.errors import ConfigError
from spadework.policies.base import SamplingParams
from spadework.policies.local.models import load_model
from spadework.policies.local.policy import LocalOptions, LocalPolicy, load_local

SLOTS = 32
SYSTEM = "You play short games. Answer with one number in a box and nothing else."


def prompts(policy: LocalPolicy, groups: int, plays: int) -> list[tuple[int, ...]]:
    """Groups of plays: a common system prompt and examples, an environment's observation, the same for each play."""
    opening: list[Any] = [{"role": "system", "content": SYSTEM}]
    for a in range(3):
        opening += [
            {"role": "user", "content": f"Of the numbers {7 * a} and {5 * a + 3}, which is larger?"},
            {"role": "assistant", "content": f"\\boxed{{{max(7 * a, 5 * a + 3)}}}"},
        ]
    rows = []
    for group in range(groups):
        text = f"Game {group}. " + "The board is empty. " * (group % 4) + "Describe your next move in a sentence."
        chat = policy.chat([*opening, {"role": "user", "content": text}])
        rows += [policy.template.opening([*opening, {"role": "user", "content": text}], (), "")] * plays
        assert chat.length == len(rows[-1])
    return rows


async def ours(policy: LocalPolicy, rows: list[tuple[int, ...]], limits: list[int]) -> int:
    replies = await asyncio.gather(
        *(
            policy.sample(row, SamplingParams(n, temperature=1.0), (i,))
            for i, (row, n) in enumerate(zip(rows, limits, strict=True))
        )
    )
    return sum(len(reply.tokens) for reply in replies)


def theirs(model: Any, stop: set[int], rows: list[tuple[int, ...]], limits: list[int]) -> int:
    pad, total = min(stop), 0
    for start in range(0, len(rows), SLOTS):
        batch, wanted = rows[start : start + SLOTS], limits[start : start + SLOTS]
        width = max(map(len, batch))
        ids = torch.tensor([[pad] * (width - len(row)) + list(row) for row in batch])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in batch])
        out = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=max(wanted),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            eos_token_id=sorted(stop),
            pad_token_id=pad,
        )[:, width:].tolist()
        for reply, limit in zip(out, wanted, strict=True):
            end = next((i + 1 for i, token in enumerate(reply) if token in stop), len(reply))
            total += min(end, limit)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 50 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    name = "smollm2-135m"
    options = LocalOptions(slots=SLOTS, threads=args.threads, max_length=1024)
    try:
        policy, _ = load_local(name, run_seed=1, options=options)
    except ConfigError:
        name = "tiny-random"
        policy, _ = load_local(name, run_seed=1, options=options)
    groups, plays, longest = (4, 8, 64) if args.quick else (16, 8, 160)
    rows = prompts(policy, groups, plays)
    rng = random.Random(0)
    limits = [longest if rng.random() < 0.15 else rng.randint(4, longest // 4) for _ in rows]
    model: Any = load_model(name, seed=1).model.to(options.torch_dtype)
    stop = set(policy.template.stop_tokens)
    torch.manual_seed(0)

    async def measure() -> tuple[float, float]:
        await ours(policy, [row[:20] for row in rows[:SLOTS]], [2] * SLOTS)  # first passes build kernels
        started = time.perf_counter()
        tokens = await ours(policy, rows, limits)
        return tokens / (time.perf_counter() - started), tokens

    speed, tokens = asyncio.run(measure())
    with torch.inference_mode():
        theirs(model, stop, [row[:20] for row in rows[:SLOTS]], [2] * SLOTS)
        started = time.perf_counter()
        other = theirs(model, stop, rows, limits)
    other_speed = other / (time.perf_counter() - started)
    ratio = speed / other_speed
    figures = [
        (f"sampling.{name}.tokens", tokens, "tokens", None, None),
        (f"sampling.{name}.spadework", speed, "tokens/s", None, None),
        (f"sampling.{name}.transformers_generate", other_speed, "tokens/s", None, None),
        (f"sampling.{name}.ratio", ratio, "x", ">= 2", ratio >= 2),
    ]
    for figure in figures:
        record = dict(zip(("name", "value", "unit", "bar", "ok"), figure, strict=True))
        print(json.dumps(record) if args.json else f"{figure[0]:48} {figure[1]:10.2f} {figure[2]:10} {figure[3] or ''}")


if __name__ == "__main__":
    main()
