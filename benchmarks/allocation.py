"""Adaptive allocation on real plays: ``python benchmarks/allocation.py [--quick] [--json] [--plays FILE]``.

The scale model designs environments as a run does and plays both arms of each many times on shared seeds. These plays
are the population: what each way to allocate would have seen is drawn from them with replacement, so their means are
the truth that errors are measured from. ``--plays`` takes the episodes that ``spadework play --out`` stored instead,
of any model and pool.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

import numpy as np
from estimators import BLEND, FULL, WINDOW, Array, adaptive, fixed, rewards, rmse
from figures import Figure, machine, most, parser, show, told

from spadework import build
from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.lessons.pools import hand_set_pool
from spadework.runs.tables import read_episodes
from spadework.selfplay.play.plan import plan_plays, play_all
from spadework.types import Environment, Episode

Plays = dict[str, Array]
"""Environment -> codes of ``estimators.OUTCOMES``, a seed each."""


async def played(designs: int, hand_set: range, plays: int) -> list[Episode]:
    """Both arms of designs of the start model, and of a hand-set pool: more of what is neither trivial nor hopeless."""
    config = load_config("scale", [f"designer.environments={designs}", "run.seed=11"])
    sandbox, engine = build.build_sandbox(config), build.build_engine(config)
    designer = build.build_stages(config, sandbox, build.build_corpus(config)).designer
    assert designer is not None
    try:
        slots = [designer.fill_slot(engine.policy, 0, slot) for slot in range(designs)]
        results = await asyncio.gather(*slots)
        pool: list[Environment] = [one.environment for one in results if one.environment is not None]
        pool += hand_set_pool(hand_set, seed=11)
        settings = build.build_play(config)
        plan = plan_plays(pool, lambda _: True, 0, 11, (plays, plays))
        return await play_all(engine.policy, sandbox, plan, settings, concurrency=config.play.concurrency)
    finally:
        await engine.policy.close()
        await sandbox.close()


def codes(episodes: Iterable[Episode]) -> Plays:
    """Wins of both arms on each seed that both finished."""
    wins: dict[str, dict[int, dict[str, bool]]] = defaultdict(lambda: defaultdict(dict))
    for episode in episodes:
        if episode.valid:
            wins[episode.environment_id][episode.seed][episode.arm] = episode.win
    pairs = {name: [both for both in own.values() if len(both) == 2] for name, own in wins.items()}
    return {
        name: np.array([both["hinted"] + 2 * both["unhinted"] for both in own])
        for name, own in pairs.items()
        if len(own) >= FULL
    }


def measure(plays: Plays, repeats: int) -> Iterable[Figure]:
    """Errors of the designer's reward under both ways, over draws from the plays."""
    rng = np.random.default_rng(0)

    def draw() -> Array:
        rows = [rng.choice(own, (repeats, FULL)) for own in plays.values()]
        return np.concatenate(rows)

    # Independent arms: the unhinted half of one draw beside the hinted half of another.
    first, apart, later = draw(), draw() % 2 + draw() // 2 * 2, [draw() for _ in range(WINDOW - 1)]
    unhinted = np.repeat([(own >= 2).mean() for own in plays.values()], repeats)
    hinted = np.repeat([(own % 2).mean() for own in plays.values()], repeats)
    truth = rewards(BLEND, np.tile(unhinted, (WINDOW, 1)), hinted - unhinted)
    ways = {
        "unpaired 16 + 16": fixed(apart, later, FULL),
        "paired 16 + 16": fixed(first, later, FULL),
        "adaptive": adaptive(first, later),
    }
    error = {name: rmse(rewards(BLEND, seen.window, seen.regret), truth) for name, seen in ways.items()}
    episodes = {name: float(seen.episodes.mean()) for name, seen in ways.items()}
    correlations = [_correlation(own) for own in plays.values()]
    yield told("environments", len(plays), "environments")
    yield told("seeds an environment", fmean(map(len, plays.values())), "seeds")
    for name, count in (("hopeless", (unhinted < 0.1).mean()), ("trivial", (unhinted > 0.9).mean())):
        yield told(f"unhinted win rate says {name}", float(count), "share")
    yield told("correlation of the arms on a seed", fmean(c for c in correlations if c is not None), "")
    for name, value in error.items():
        yield told(f"error of the reward, {name}", value, "RMSE")
    against = "unpaired 16 + 16"
    yield most(f"episodes of adaptive to {against}", episodes["adaptive"] / episodes[against], "ratio", 0.6)
    yield most(f"error of adaptive to {against}", error["adaptive"] / error[against], "ratio", 1.0)


def _correlation(own: Array) -> float | None:
    """Of hinted and unhinted wins over seeds; ``None`` where either never varies."""
    hinted, unhinted = own % 2, own >= 2
    varies = 0 < hinted.mean() < 1 and 0 < unhinted.mean() < 1
    return float(np.corrcoef(hinted, unhinted)[0, 1]) if varies else None


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--plays", type=Path, metavar="FILE.parquet", help="episodes of `spadework play --out`")
    options = arguments.parse_args()
    if not options.json:
        print(machine())
    if options.plays:
        episodes = read_episodes(options.plays)
    else:
        designs, sizes, count = (12, range(4, 8, 3), 32) if options.quick else (48, range(3, 9), 96)
        episodes = asyncio.run(played(designs, sizes, count))
    plays = codes(episodes)
    if not plays:
        raise ConfigError(f"{options.plays}: no environment with {FULL} seeds that both arms finished")
    return 0 if show(measure(plays, 60 if options.quick else 200), options.json) else 1


if __name__ == "__main__":
    raise SystemExit(main())
