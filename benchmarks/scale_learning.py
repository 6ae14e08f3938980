"""Agent learning alone: the scale model on a hand-set pool, held-out wins before and after, a seed a line.

``python benchmarks/scale_learning.py [--seeds 1 2 3 4 5] [--cycles 60] [--quick] [--json]``; a seed takes minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from spadework import build
from spadework.config import RunConfig, load_config
from spadework.envs.sandbox import Sandbox
from spadework.lessons.pools import hand_set_pool
from spadework.policies.base import Policy
from spadework.runs.store import RunStore
from spadework.selfplay.loop import SelfPlay
from spadework.selfplay.play import plan_plays, play_all
from spadework.selfplay.pool_files import write_pool

TRAINED, HELD_OUT = range(3, 9), range(4, 11)
"""Marks a turn."""
_POOL_SEED, _HELD_OUT_SEED = 1, 777


@dataclass(frozen=True)
class Figure:
    """One line of the report."""

    name: str
    value: float
    unit: str
    bar: str
    ok: bool | None


class _Observer:
    """Says nothing."""

    def stage(self, cycle: int, name: str, total: int) -> None: ...

    def advance(self, tokens: int) -> None: ...

    def note(self, text: str) -> None: ...

    def cycle_done(self, cycle: int, metrics: Any) -> None: ...


async def held_out(config: RunConfig, policy: Policy, sandbox: Sandbox, episodes: int) -> float:
    """Unhinted win rate on environments and seeds that no run trains on."""
    pool = hand_set_pool(HELD_OUT, seed=_HELD_OUT_SEED)
    plays = plan_plays(pool, lambda _: False, 0, _HELD_OUT_SEED, (episodes, 0))
    settings, limit = build.build_play(config), config.play.concurrency
    played = await play_all(policy, sandbox, plays, settings, concurrency=limit)
    return fmean(episode.win for episode in played if episode.valid)


async def one_seed(config: RunConfig, folder: Path, episodes: int) -> tuple[float, float]:
    """Held-out wins before and after a run."""
    sandbox, engine = build.build_sandbox(config), build.build_engine(config)
    store = RunStore.create(folder / f"run-{config.run.seed}", config)
    try:
        before = await held_out(config, engine.policy, sandbox, episodes)
        loop = SelfPlay(config, build.build_stages(config, sandbox, None), _Observer())
        await loop.run(engine.policy, engine.trainer, store)
        return before, await held_out(config, engine.policy, sandbox, episodes)
    finally:
        store.close()
        await engine.policy.close()
        await sandbox.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed and few updates: shows that it runs, no more")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--cycles", type=int, default=60)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    seeds, cycles = (options.seeds[:1], 6) if options.quick else (options.seeds, options.cycles)
    good = True
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_pool(folder / "pool.parquet", hand_set_pool(TRAINED, each=2, seed=_POOL_SEED))
        for seed in seeds:
            given = [f"run.seed={seed}", f"run.cycles={cycles}", f"pool.source={folder / 'pool.parquet'}"]
            fixed = ["designer.environments=0", "pool.per_cycle=12", f"run.checkpoint_every={cycles}"]
            config = load_config("scale", [*given, *fixed, *options.set])
            started = time.perf_counter()
            before, after = asyncio.run(one_seed(config, folder, 2 if options.quick else 9))
            spent = (time.perf_counter() - started) / 60
            rise = after - before
            figures = [
                Figure(f"seed {seed}: held-out wins at the start", round(before, 3), "share", "", None),
                Figure(f"seed {seed}: after {cycles} updates", round(after, 3), "share", "", None),
                Figure(
                    f"seed {seed}: rise",
                    round(rise, 3),
                    "share",
                    "" if options.quick else ">= 0.3",
                    None if options.quick else rise >= 0.3,
                ),
                Figure(f"seed {seed}: time", round(spent, 2), "min", "", None),
            ]
            for figure in figures:
                good &= figure.ok is not False
                if options.json:
                    print(json.dumps(asdict(figure)), flush=True)
                else:
                    verdict = {True: "ok", False: "MISSED", None: ""}[figure.ok]
                    print(f"{figure.name:44} {figure.value:>8g} {figure.unit:6} {figure.bar:8} {verdict}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
