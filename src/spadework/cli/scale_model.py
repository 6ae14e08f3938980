"""``spadework scale-model``: make the scale model's weights anew, or a hand-set pool of its kind; all from rules."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.lessons.pools import hand_set_pool
from spadework.scale_model.build import BuildSettings, build_scale_model
from spadework.selfplay.pool.files import write_pool

_DEFAULTS = BuildSettings()
_TOLD_EVERY = 50
"""Steps between two lines about the loss."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="fit the tokenizer and pretrain the weights; a stopped build goes on")
    build.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write, not there yet")
    build.add_argument("--config", default="scale", help="whose prompts are taught (default: %(default)s)")
    build.add_argument("--steps", type=int, default=_DEFAULTS.steps, help="optimiser steps (default: %(default)s)")
    build.add_argument("--seed", type=int, default=_DEFAULTS.seed, help="of every draw (default: %(default)s)")
    build.add_argument("--threads", type=int, default=_DEFAULTS.threads, help="CPU threads (default: %(default)s)")
    pool = actions.add_parser("pool", help="write solvable environments of every family and a range of lengths")
    pool.add_argument("--out", type=Path, required=True, metavar="POOL.parquet")
    pool.add_argument("--lengths", default="3-8", metavar="A-B", help="marks a turn (default: %(default)s)")
    pool.add_argument("--each", type=int, default=1, help="of each family and length (default: %(default)s)")
    pool.add_argument("--seed", type=int, default=0, help="of their texts (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    return _build(args) if args.action == "build" else _pool(args)


def _build(args: argparse.Namespace) -> int:
    if args.out.exists():
        raise ConfigError(f"--out {args.out}: exists already; name a folder that does not")
    started = time.monotonic()

    def on_step(done: int, plays: float, designs: float) -> None:
        if done % _TOLD_EVERY == 0 or done == args.steps:
            minutes = (time.monotonic() - started) / 60
            loss = f"loss of plays {plays:.3f}, of designs {designs:.3f}"
            print(f"step {done}/{args.steps}, {minutes:.1f} min, {loss}", flush=True)

    settings = BuildSettings(seed=args.seed, steps=args.steps, threads=args.threads)
    build_scale_model(args.out, load_config(args.config), settings, on_step)
    print(f"written: {args.out}")
    return 0


def _pool(args: argparse.Namespace) -> int:
    span = re.fullmatch(r"(\d+)-(\d+)", args.lengths)
    if span is None or not 1 <= int(span[1]) <= int(span[2]) <= 26:
        raise ConfigError(f"--lengths {args.lengths}: write it as A-B, from 1 to 26: marks are labelled A to Z")
    if args.out.suffix != ".parquet":
        raise ConfigError(f"--out {args.out}: the name must end in .parquet")
    pool = hand_set_pool(range(int(span[1]), int(span[2]) + 1), each=args.each, seed=args.seed)
    write_pool(args.out, pool)
    print(f"{len(pool)} environments in {args.out}")
    return 0
