"""``check --policy``: how often a model wins the programs that were checked, at every level that they have."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from spadework.cli.environments.model import model_config
from spadework.cli.environments.play import by_model
from spadework.envs.check.levels import tried_levels
from spadework.envs.levels import levels
from spadework.intervals import Interval, share_interval
from spadework.selfplay.play.plan import plan_plays
from spadework.selfplay.pool.levelled import at
from spadework.types import Environment, Episode


@dataclass(frozen=True, slots=True)
class Winning:
    """How often one program was won at one level; ``rate`` is an exact interval over ``n`` plays without a fault."""

    program: str
    level: int | None
    """``None`` for a program without levels."""
    rate: Interval
    faults: int


def measure(args: argparse.Namespace, programs: Sequence[tuple[str, Environment]], console: Console) -> list[Winning]:
    """Play ``args.plays`` episodes of every program and level, without a hint. Raises ``ConfigError``."""
    config = model_config(argparse.Namespace(**{**vars(args), "model": args.policy}))
    cases = [case for name, environment in programs for case in _at_levels(name, environment)]
    plays = plan_plays([one for _, _, one in cases], lambda one: False, 0, config.run.seed, (args.plays, 0))
    episodes = asyncio.run(by_model(config, plays, console)) if plays else []
    by_id: dict[str, list[Episode]] = {one.id: [] for _, _, one in cases}
    for episode in episodes:
        by_id[episode.environment_id].append(episode)
    return [Winning(name, level, *_rate(by_id[one.id])) for name, level, one in cases]


def _at_levels(name: str, environment: Environment) -> Iterator[tuple[str, int | None, Environment]]:
    """The program as it is, or at the levels that ``check`` plays it at."""
    own = levels(environment.source)
    if own is None:
        yield name, None, environment
        return
    for level in tried_levels(own):
        yield name, level, at(environment, level, environment.id)


def _rate(episodes: Sequence[Episode]) -> tuple[Interval, int]:
    valid = [episode for episode in episodes if episode.valid]
    return share_interval(sum(episode.win for episode in valid), len(valid)), len(episodes) - len(valid)


def table(found: Sequence[Winning]) -> Table:
    """A line a program and level."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column("program", overflow="fold")
    for name in ("level", "n", "win rate", "95 % interval", "faults"):
        shown.add_column(name, justify="right", no_wrap=True)
    for one in found:
        rate = one.rate
        figures = (f"{rate.mean:.2f}", f"{rate.low:.2f} to {rate.high:.2f}") if rate.n else ("–", "–")
        level = "–" if one.level is None else str(one.level)
        shown.add_row(one.program, level, str(rate.n), *figures, str(one.faults))
    return shown


def record(one: Winning) -> str:
    """The same as a JSON line."""
    rate = one.rate
    figures = {"win_rate": rate.mean, "low": rate.low, "high": rate.high} if rate.n else {}
    return json.dumps({"program": one.program, "level": one.level, "n": rate.n, **figures, "faults": one.faults})
