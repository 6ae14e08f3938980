"""What a cycle's collection costs, against its bars: ``python benchmarks/rollout.py [--quick] [--json]``.

The work is that of the paper's cycle: 24 programs are designed, validated and given hints, and each is played 16 times
in both arms for up to 12 turns, every program in the sandbox, every start of a session included. A scripted policy
answers after a set time. The critical path is the longest chain of replies: design, hint, turns of one episode. The CPU
floor is the CPU that the run took over the cores that others left to it, or that of the host's one thread where it is
longer: no order of the same work could take less. On a quiet machine all cores are left.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from figures import Figure, least, machine, most, parser, show, told
from sandbox import measured
from scripted_cycle import BOXED_MAZE, ENVIRONMENTS, EPISODES, PROGRAM, TURNS, Endpoint, Latency, Nobody, Opened, Unsafe

from spadework import build
from spadework.cli import collect_seldom
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.rollout import Play
from spadework.runs.store import RunStore
from spadework.selfplay.design.examples import environment_id
from spadework.selfplay.loop import SelfPlay
from spadework.selfplay.play.plan import plan_plays, play_all
from spadework.testing.scripted import ScriptedTrainer
from spadework.types import Environment, Key, derive_seed


def cycle_config(*overrides: str) -> RunConfig:
    settings = [
        f"designer.environments={ENVIRONMENTS}", f"play.episodes={EPISODES}", "play.concurrency=1024",
        "designer.attempts=5", "validation.seeds=6", "run.cycles=1", f"play.max_turns={TURNS}",
    ]  # fmt: skip
    return load_config("scripted", [*settings, *overrides])


async def one_cycle(latency: Latency) -> tuple[Endpoint, Any]:
    """One collection, from nothing to scored rows."""
    config, policy = cycle_config(), Endpoint(latency)
    async with ForkServer() as sandbox:
        await (await sandbox.open(PROGRAM.format(most=7), build.build_limits(config))).close()
        run = SelfPlay(config, build.build_stages(config, sandbox, build.build_corpus(config)), Nobody())
        with shared() as spent:
            collected = await run.collect(policy, 0)
    episodes = collected.record.episodes
    assert len(episodes) == 2 * ENVIRONMENTS * EPISODES, len(episodes)
    assert all(episode.valid for episode in episodes)
    return policy, spent


@contextmanager
def shared() -> Iterator[Any]:
    """``measured``, and ``left``, the cores that others left, and ``floor``, the seconds that this CPU must take."""
    host, busy = time.process_time(), machine_cpu()
    with measured() as spent:
        yield spent
    host, busy = time.process_time() - host, machine_cpu() - busy
    spent.left = (os.cpu_count() or 1) - max(0.0, busy - spent.cpu) / spent.wall
    spent.floor = max(host, spent.cpu / spent.left)


def machine_cpu() -> float:
    """CPU seconds that the machine has been busy, for whomever."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def costs(name: str, policy: Endpoint, spent: Any, path: float) -> list[Figure]:
    """What a cycle took, beside its makespan."""
    return [
        told(f"{name}: critical path", path, "s"),
        told(f"{name}: cores left by others", spent.left, ""),
        told(f"{name}: CPU floor", spent.floor, "s"),
        told(f"{name}: makespan over the longer of both", spent.wall / max(path, spent.floor), "x"),
        told(f"{name}: CPU a model call", 1000 * spent.cpu / len(policy.spent), "ms"),
    ]


async def fixed_latencies(quick: bool) -> list[Figure]:
    """Makespans against the critical path, or the CPU floor where that is longer."""
    figures = []
    for seconds, bar in ((0.2, 1.5), (0.05, None)):
        policy, spent = await one_cycle(lambda key, seconds=seconds: seconds)
        path = policy.longest_chain()
        limit = max(bar * path if bar else 2.8, 1.3 * max(path, spent.floor))
        name = f"{1000 * seconds:.0f} ms"
        figures += [
            most(f"{name}: makespan", spent.wall, "s", limit),
            told(f"{name}: makespan over critical path", spent.wall / path, "x"),
            *costs(name, policy, spent, path),
        ]
    return figures


def lognormal(key: Key) -> float:
    """A twentieth of a second at the median, ten times as long for one reply in a hundred."""
    return random.Random(derive_seed(7, *key)).lognormvariate(math.log(0.05), 1.0)


async def heavy_tail(quick: bool) -> list[Figure]:
    """Lognormal latencies: a few slow replies hold nobody else up."""
    policy, spent = await one_cycle(lognormal)
    path = max(policy.longest_chain(), sum(policy.spent.values()) / 1024)
    return [
        most("lognormal: makespan", spent.wall, "s", 1.3 * max(path, spent.floor)),
        *costs("lognormal", policy, spent, path),
    ]


async def no_latency(quick: bool) -> list[Figure]:
    """Replies at once: what two cores make of it, against programs in this very process, which is one core's work.

    Rates are those of cores that nobody else uses: what others took meanwhile is measured and left out.
    """
    light = [PROGRAM.format(most=5_000 + 1_000 * number) for number in range(ENVIRONMENTS)]
    typical = [BOXED_MAZE.replace("40)", f"{30 + number})") for number in range(ENVIRONMENTS)]
    rates: dict[str, list[Rate]] = defaultdict(list)
    async with ForkServer() as sandbox:
        for _ in range(1 if quick else 5):
            for name, sources in (("light", light), ("typical", typical)):
                plays = planned(sources)
                rates[f"{name}, unsafe"].append(await timed(plays, Unsafe(), 1))
                rates[name].append(await timed(plays, sandbox, 2))
                rates[f"{name}, open"].append(await timed(plays, await opened(sandbox, plays), 2))
    best = {name: max(rate.quiet for rate in own) for name, own in rates.items()}
    cpu = {name: min(rate.cpu for rate in own) for name, own in rates.items()}
    shares = [
        mine.quiet / theirs.quiet for mine, theirs in zip(rates["typical"], rates["typical, unsafe"], strict=True)
    ]
    return [
        least("light program: model calls a second, starts included", best["light"], "1/s", 3000),
        told("the same as it was beside others", max(rate.seen for rate in rates["light"]), "1/s"),
        told("light program: model calls a second, sessions open", best["light, open"], "1/s"),
        told("light program: model calls a second, unsafe", best["light, unsafe"], "1/s"),
        told("light program: CPU a turn, starts included", cpu["light"], "us"),
        told("light program: CPU a turn, sessions open", cpu["light, open"], "us"),
        told("light program: CPU a turn, unsafe", cpu["light, unsafe"], "us"),
        told("typical program: model calls a second, starts included", best["typical"], "1/s"),
        least("typical program: against unsafe in process", median(shares), "x", 0.6),
    ]


class Rate(NamedTuple):
    """Of one collection: model calls a second as seen, and on cores of its own; CPU microseconds a call."""

    seen: float
    quiet: float
    cpu: float


def planned(sources: Sequence[str]) -> list[Play]:
    """Both arms of every program."""
    environments = [Environment(environment_id(s), s, "Halve it.", "s", "games", "d", 0, 0) for s in sources]
    return plan_plays(environments, lambda one: True, 0, 0, (EPISODES, EPISODES))


async def timed(plays: Sequence[Play], sandbox: Any, cores: int) -> Rate:
    """Play on as many cores, so far as others leave them."""
    settings, policy = build.build_play(cycle_config()), Endpoint(lambda key: 0.0)
    with shared() as spent:
        episodes = await play_all(policy, sandbox, plays, settings, concurrency=256)
    assert all(episode.valid for episode in episodes)
    calls = len(policy.spent)
    seen = calls / spent.wall
    return Rate(seen, seen * cores / min(cores, spent.left), 1e6 * spent.cpu / calls)


async def opened(sandbox: ForkServer, plays: Sequence[Play]) -> Opened:
    """A session for each play."""
    limits = build.build_limits(cycle_config())
    sessions = await asyncio.gather(*(sandbox.open(play.environment.source, limits) for play in plays))
    held = defaultdict(list)
    for play, session in zip(plays, sessions, strict=True):
        held[play.environment.source].append(session)
    return Opened(held)


async def many_episodes(quick: bool) -> list[Figure]:
    """Collect, score, batch and store, cycle after cycle, programs in this process: time and memory stay flat."""
    cycles, each = (8, 16) if quick else (66, 64)
    names = [example.name for example in build.bundled_examples(cycle_config())][:ENVIRONMENTS]
    anchors = json.dumps(names)
    config = cycle_config(
        f"run.cycles={cycles}", f"play.episodes={each}", "designer.environments=0", f"pool.anchors={anchors}"
    )  # fmt: skip
    policy, seconds, memory = Endpoint(lambda key: 0.0), [], []

    class Watch(Nobody):
        def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
            seconds.append(time.process_time())
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            policy.spent.clear()

    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder) / "run", config)
        stages = build.build_stages(config, Unsafe(), None)
        trainer = ScriptedTrainer(policy)
        trainer.batches = Forgetful()
        await SelfPlay(config, stages, Watch()).run(policy, trainer, store)
        rows = len(store.sequence_files())
        store.close()
    assert rows == cycles
    spans = [later - earlier for earlier, later in pairwise(seconds)]  # the first cycle plays the hinted arms too
    third, count = len(spans) // 3, len(names) * each
    early, late = median(spans[:third]), median(spans[-third:])
    return [
        told("episodes collected, scored, batched and stored", count * (cycles + 1), ""),
        told("host CPU an episode, first third", 1000 * early / count, "ms"),
        told("host CPU an episode, last third", 1000 * late / count, "ms"),
        most("time of an episode, last third over first", late / early, "x", 1.15),
        told("memory after the first third", memory[third], "MiB"),
        most("memory, end over first third", memory[-1] / memory[third], "x", 1.1),
    ]


class Forgetful(list[Any]):
    """The trainer's batches, which nobody reads here."""

    def append(self, batch: Any) -> None: ...


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--only", help="run the parts whose name contains this")
    options = arguments.parse_args()
    collect_seldom()
    if not options.json:
        print(machine())
    good = True
    for part in (fixed_latencies, heavy_tail, no_latency, many_episodes):
        if not options.only or options.only in part.__name__:
            good &= show(asyncio.run(part(options.quick)), options.json)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
