"""Agent learning alone: the scale model on a hand-set pool, held-out wins before and after, a seed a line.

``python benchmarks/scale_learning.py [--seeds 1 2 3 4 5] [--cycles 60] [--quick] [--json]``; a seed takes minutes.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from figures import least, parser, show, told
from scale_model import Clock

from spadework import build
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.envs.sandbox.base import Sandbox
from spadework.lessons.pools import hand_set_pool
from spadework.policies.base import Policy
from spadework.runs.store import RunStore
from spadework.selfplay.loop import SelfPlay
from spadework.selfplay.play.plan import plan_plays, play_all
from spadework.selfplay.pool.files import write_pool

TRAINED, HELD_OUT = range(3, 9), range(4, 11)
"""Marks a turn."""
_POOL_SEED, _HELD_OUT_SEED = 1, 777


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
        loop = SelfPlay(config, build.build_stages(config, sandbox, None), Clock())
        await loop.run(engine.policy, engine.trainer, store)
        return before, await held_out(config, engine.policy, sandbox, episodes)
    finally:
        store.close()
        await engine.policy.close()
        await sandbox.close()


def main() -> int:
    arguments = parser(__doc__, quick="one seed and few updates: shows that it runs, no more")
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    arguments.add_argument("--cycles", type=int, default=60)
    arguments.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    options = arguments.parse_args()
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
            rise = f"seed {seed}: rise of held-out wins"
            figures = [
                told(f"seed {seed}: held-out wins at the start", before, "share"),
                told(f"seed {seed}: held-out wins after {cycles} updates", after, "share"),
                told(rise, after - before, "share") if options.quick else least(rise, after - before, "share", 0.3),
                told(f"seed {seed}: time", spent, "min"),
            ]
            good &= show(figures, options.json)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
