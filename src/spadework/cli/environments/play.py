"""``spadework play``: play environments in both arms on the same seeds, with a model or yourself."""

from __future__ import annotations

import argparse
import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from spadework import build
from spadework.cli.environments.model import add_model, model_config
from spadework.cli.environments.names import shown_names
from spadework.cli.environments.transcript import transcripts
from spadework.cli.faults import print_faults
from spadework.cli.ticker import Ticker
from spadework.config import RunConfig
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError, RunError, cause_lines, causes
from spadework.intervals import Interval, bounded_regret, welch_interval
from spadework.jobs.engine import open_policy
from spadework.policies.base import Policy
from spadework.rollout import Play
from spadework.runs.files import write_whole
from spadework.runs.tables import EPISODES, write_rows
from spadework.selfplay.play.plan import group_episodes, plan_plays, play_all
from spadework.selfplay.pool.files import load_pool
from spadework.selfplay.pool.levelled import at, level_of
from spadework.selfplay.score.scoring import by_environment
from spadework.selfplay.score.seeds import paired_regret
from spadework.types import Environment, Episode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="POOL_OR_FILE", help="pools, folders or programs")
    add_model(parser)
    parser.add_argument("--arm", choices=("both", "hinted", "unhinted"), default="both")
    parser.add_argument("-n", type=int, default=8, metavar="N", help="episodes an environment and arm")
    parser.add_argument(
        "--levels", type=_levels, default=(), metavar="0,3,6", help="play at these levels of difficulty"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.parquet", help="write the episodes")
    parser.add_argument("--transcript", action="store_true", help="print every episode, turn by turn")
    parser.add_argument("--human", action="store_true", help="play the first environment yourself, at the terminal")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when an environment could not be played at all. Raises ``RunError`` when none could."""
    config = model_config(args)
    if args.out is not None and args.out.suffix != ".parquet":
        raise ConfigError(f"--out {args.out}: the name must end in .parquet")
    environments = list({one.id: one for path in args.paths for one in load_pool(path)}.values())
    if args.levels:
        environments = _at_levels(environments, args.levels)
    if args.human:
        environments = environments[:1]
    plays = _plan(config, environments, args)
    if not plays:
        raise ConfigError("nothing to play: no environment here has a hint")
    console = Console(highlight=False)
    episodes = asyncio.run(_by_hand(config, plays, console) if args.human else by_model(config, plays, console))
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(args.out, lambda target: write_rows(target, episodes, EPISODES))
        console.print(f"{len(episodes)} episodes in {args.out}", soft_wrap=True)
    if args.human:
        _print_end(console, episodes[0])
        return 0
    if args.transcript:
        for line in transcripts(shown_names(environments), episodes):
            console.print(line, markup=False, soft_wrap=True)
    return _print_played(console, environments, episodes, args.levels)


def _print_played(
    console: Console, environments: Sequence[Environment], episodes: Sequence[Episode], levels: Sequence[int]
) -> int:
    """The table, what went wrong, and the verb's exit status."""
    names = shown_names(environments)
    wrong = _wrong(names, episodes)
    played = {episode.environment_id for episode in episodes if episode.valid}
    if not played:
        raise RunError(f"nothing was played: all {len(episodes)} episodes failed: {'; '.join(cause_lines(wrong))}")
    console.print(_table(environments, names, episodes))
    print_faults(console, wrong)
    if levels:
        console.print("\n".join(_trends(environments, episodes, levels)))
    return int(len(played) < len({episode.environment_id for episode in episodes}))


def _wrong(names: Mapping[str, str], episodes: Sequence[Episode]) -> Counter[str]:
    """Faults by cause; those of a program are told with its name."""
    counts: Counter[str] = Counter()
    for episode in episodes:
        if episode.fault is not None:
            (cause,) = causes([episode.fault])
            own = episode.fault.kind == "program"
            counts[f"{names[episode.environment_id]}: {cause}" if own else cause] += 1
    return counts


def _levels(text: str) -> tuple[int, ...]:
    """``0,3,6`` as numbers, ascending. Raises ``ValueError``."""
    return tuple(sorted({int(part) for part in text.split(",")}))


def _at_levels(environments: Sequence[Environment], levels: Sequence[int]) -> list[Environment]:
    """Each environment once a level. Raises ``ConfigError`` for one without levels."""
    without = [one.id for one in environments if level_of(one) is None]
    if without:
        raise ConfigError(f"--levels: {without[0]} has none; its constructor takes no difficulty")
    return [at(one, level, one.id) for one in environments for level in levels]


def _trends(environments: Sequence[Environment], episodes: Sequence[Episode], levels: Sequence[int]) -> list[str]:
    """For each environment whether its unhinted win rate falls from the lowest level to the highest."""
    won: dict[str, list[float]] = {one.id: [] for one in environments}
    for episode in episodes:
        if episode.valid and episode.arm == "unhinted":
            won[episode.environment_id].append(float(episode.win))
    lines = []
    for first in range(0, len(environments), len(levels)):
        low, high = environments[first], environments[first + len(levels) - 1]
        change = welch_interval(won[high.id], won[low.id])
        word = "falls" if change.high < 0 else "rises" if change.low > 0 else "moves too little to tell"
        span = f"level {levels[0]} to {levels[-1]}"
        lines.append(f"{low.id.removesuffix(f'-d{levels[0]}')}: the win rate {word} from {span} ({change.mean:+.2f})")
    return lines


def _plan(config: RunConfig, environments: Sequence[Environment], args: argparse.Namespace) -> list[Play]:
    """Who plays what; a person plays one episode, without the hint unless the hinted arm is asked for."""
    arm, n = ("unhinted" if args.arm == "both" else args.arm, 1) if args.human else (args.arm, args.n)
    counts = (0 if arm == "hinted" else n, 0 if arm == "unhinted" else n)
    return plan_plays(environments, lambda one: bool(one.hint), 0, config.run.seed, counts)


async def by_model(config: RunConfig, plays: Sequence[Play], console: Console) -> list[Episode]:
    """Let the config's model play, with a sign of life meanwhile."""
    done: list[Episode] = []
    state = Ticker(console, lambda: f"{len(done)} of {len(plays)} episodes")
    async with state, open_policy(config, partial(console.print, soft_wrap=True, markup=False)) as (policy, sandbox):
        return await _play(config, plays, policy, sandbox, done.append)


async def _by_hand(config: RunConfig, plays: Sequence[Play], console: Console) -> list[Episode]:
    """One episode with a person, who is told what is played, in which form, and how many turns are left."""
    environment = plays[0].environment
    dialogue = find_domain(environment.domain).dialogue
    sandbox = build.build_sandbox(config)
    try:
        session = await sandbox.open(environment.source, build.build_limits(config))
        turns = session.max_turns
        await session.close()
        name = shown_names([environment])[environment.id]
        console.print(f"{name}: a line is sent as {dialogue.encode('LINE')}; Ctrl-D ends the game", markup=False)
        asked = count()

        def ask(text: str) -> str:
            console.print(text, markup=False, soft_wrap=True)
            left = turns - next(asked)
            return dialogue.encode(input(f"({left} {'turn' if left == 1 else 'turns'} left) > "))

        return await _play(config, plays, build.build_human(ask), sandbox, lambda episode: None)
    finally:
        await sandbox.close()


async def _play(
    config: RunConfig, plays: Sequence[Play], policy: Policy, sandbox: Sandbox, on_done: Callable[[Episode], None]
) -> list[Episode]:
    """Each domain with its own system prompt."""
    concurrency = None if config.run.deterministic else config.play.concurrency
    episodes = []
    for domain in dict.fromkeys(play.environment.domain for play in plays):
        settings = build.build_play(config, domain)
        own = [play for play in plays if play.environment.domain == domain]
        episodes += await play_all(policy, sandbox, own, settings, concurrency=concurrency, on_done=on_done)
    return episodes


def _print_end(console: Console, episode: Episode) -> None:
    console.print(episode.last_observation, markup=False, soft_wrap=True)
    told = f"return {episode.return_:g}" if episode.fault is None else f"{episode.fault.code} {episode.fault.message}"
    console.print(f"{episode.ending} after {len(episode.turns)} turns: {told}", markup=False)


def _table(environments: Sequence[Environment], names: Mapping[str, str], episodes: Sequence[Episode]) -> Table:
    """A line an environment; ``n`` counts the episodes that its figures rest on, unhinted and hinted."""
    table = Table(box=None, pad_edge=False)
    for name in ("environment", "skill", "n", "win rate", "hinted", "regret", "95 % interval", "faults"):
        justify: Literal["left", "right"] = "left" if name in ("environment", "skill") else "right"
        table.add_column(name, justify=justify, no_wrap=name != "skill")
    played = by_environment(group_episodes(episodes))
    for environment in environments:
        arms = played.get(environment.id, {})
        rates = [_number(arms[arm].win_rate if arm in arms else math.nan) for arm in ("unhinted", "hinted")]
        faults = sum(len(group.episodes) - len(group.valid) for group in arms.values())
        regret = bounded_regret(paired_regret(arms))
        counts = " + ".join(str(len(arms[arm].valid)) for arm in ("unhinted", "hinted") if arm in arms)
        figures = [counts, *rates, _number(regret.mean), _ends(regret), str(faults)]
        table.add_row(names[environment.id], environment.skill or "–", *figures)
    return table


def _ends(interval: Interval) -> str:
    return "–" if math.isnan(interval.low) else f"{interval.low:.2f} to {interval.high:.2f}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"
