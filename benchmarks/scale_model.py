"""What the scale model can do at its start, against bars: ``python benchmarks/scale_model.py [--quick] [--json]``.

Everything goes through the stages of a run: designs through the designer, plays through the play stage, and the cycles
through ``spadework train``. ``--model DIR`` looks at a model that was built anew.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from figures import Figure, least, most, parser, show, told
from scripted_cycle import Nobody

from spadework import build
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.domains.games import GAMES
from spadework.envs.check.players import guesses, oracle, recite
from spadework.envs.sandbox.base import Sandbox
from spadework.lessons.pools import hand_set_pool
from spadework.policies.base import Hyperparameters
from spadework.policies.local.models import load_model
from spadework.runs.store import RunStore
from spadework.selfplay.loop import SelfPlay
from spadework.selfplay.play.plan import plan_plays, play_all
from spadework.types import Environment, Episode, Segment
from spadework.types import TrainingRow as Row

SIZES = (1, 2, 3, 4, 6, 8, 10, 12, 16)
MIDDLE = (0.1, 0.5)
"""Unhinted win rates of the sizes that the hint has to help with."""


class Bench:
    """Config, engine and sandbox of all parts."""

    def __init__(self, config: RunConfig, sandbox: Sandbox, quick: bool) -> None:
        self.config, self.sandbox, self.quick = config, sandbox, quick
        self.engine = build.build_engine(config)
        self.accepted: list[Environment] = []
        self.episodes: list[Episode] = []

    async def designs(self) -> list[Figure]:
        """One attempt a slot."""
        once = self.config.model_copy(update={"designer": self.config.designer.model_copy(update={"attempts": 1})})
        designer = build.build_stages(once, self.sandbox, build.build_corpus(once)).designer
        assert designer is not None
        cycles, slots = (4 if self.quick else 20), once.designer.environments
        results = []
        for cycle in range(cycles):
            jobs = [designer.fill_slot(self.engine.policy, cycle, slot) for slot in range(slots)]
            results += await asyncio.gather(*jobs)
        designs = [design for result in results for design in result.designs if design.fault is None]
        self.accepted = [result.environment for result in results if result.environment is not None]
        lines = [len(environment.source.splitlines()) for environment in self.accepted]
        skills = {environment.skill for environment in self.accepted}
        return [
            least("designs that ran", fmean(design.ran for design in designs), "share", 0.9),
            least("designs accepted", fmean(design.accepted for design in designs), "share", 0.7),
            told("lines of a program, fewest", min(lines), "lines"),
            told("lines of a program, most", max(lines), "lines"),
            least("skills", len(skills), "skills", 4),
        ]

    async def hints(self) -> list[Figure]:
        """Both arms of a hand-set pool, by size."""
        pool = hand_set_pool(SIZES)
        count = 2 if self.quick else 12
        plays = plan_plays(pool, lambda _: True, 0, 1, (count, count))
        settings = build.build_play(self.config)
        self.episodes = await play_all(
            self.engine.policy, self.sandbox, plays, settings, concurrency=self.config.play.concurrency
        )
        size = {environment.id: _length(environment) for environment in pool}
        wins: dict[tuple[str, int], list[float]] = defaultdict(list)
        for episode in self.episodes:
            if episode.valid:
                wins[episode.arm, size[episode.environment_id]].append(float(episode.win))
        rate = {key: fmean(values) for key, values in wins.items()}
        figures = [told(f"{arm} win rate of {n} marks", rate[arm, n], "share") for arm, n in sorted(rate)]
        middle = [n for n in SIZES if MIDDLE[0] <= rate["unhinted", n] <= MIDDLE[1]]
        gap = fmean(rate["hinted", n] - rate["unhinted", n] for n in middle) if middle else 0.0
        return [
            *figures,
            least("sizes in the middle band", len(middle), "sizes", 1),
            least("hint gap in the middle band", gap, "share", 0.4),
        ]

    async def luck(self) -> list[Figure]:
        """A player who knows the answers of other seeds, on every accepted design."""
        limits, plays = build.build_limits(self.config), 10 if self.quick else 40
        shares = []
        for environment in self.accepted[: 24 if self.quick else None]:
            session = await self.sandbox.open(environment.source, limits)
            shadow = await self.sandbox.open(environment.source, limits)
            solved = [await oracle(session, shadow, seed, GAMES, session.max_turns) for seed in range(5)]
            said = [action for each in solved for action in each.actions]
            rng = random.Random(environment.id)
            scripts = [(100 + seed, guesses(rng, said, session.max_turns)) for seed in range(plays)]
            shares.append(fmean(each.win for each in await recite(session, scripts)))
            await session.close()
            await shadow.close()
        return [most("wins by luck, mean over designs", fmean(shares), "share", 0.05)]

    async def agreement(self) -> list[Figure]:
        """The sampler's log-probabilities against the trainer's and those of transformers."""
        segments = [segment for episode in self.episodes[:200] for segment in episode.segments]
        hp = Hyperparameters(lr=1e-12, weight_decay=0.0)
        metrics = await self.engine.trainer.train([_row(segment) for segment in segments], hp)
        return [
            most("log-probabilities, sampler against trainer", metrics["logprob_mismatch"], "mean difference", 1e-4),
            most("log-probabilities, sampler against transformers", self._against_plain(segments), "difference", 1e-4),
        ]

    def _against_plain(self, segments: Sequence[Segment]) -> float:
        """The largest difference on a sampled token."""
        model: Any = load_model(self.config.model.name).model
        worst = 0.0
        for segment in segments[:40]:
            ids = torch.tensor([segment.tokens])
            with torch.inference_mode():
                logprobs = torch.log_softmax(model(input_ids=ids[:, :-1]).logits[0], dim=-1)
            own = logprobs.gather(1, ids[0, 1:, None])[:, 0].tolist()
            pairs = zip(own, segment.logprobs[1:], segment.loss_mask[1:], strict=True)
            worst = max([worst, *(abs(mine - theirs) for mine, theirs, sampled in pairs if sampled)])
        return worst


def _length(environment: Environment) -> int:
    """Marks a turn, off the program."""
    return int(environment.source.partition("in range(")[2].partition(")")[0])


def _row(segment: Segment) -> Row:
    return Row(
        tokens=segment.tokens,
        loss_mask=segment.loss_mask,
        logprobs=segment.logprobs,
        advantages=tuple(1e-6 * sampled for sampled in segment.loss_mask),
        role="agent",
        group_id="bench",
        source_id="bench",
        policy_version=0,
        temperature=segment.temperature,
    )


class Clock(Nobody):
    """Watches a run: wall and CPU seconds of each cycle, the latter of this process alone."""

    def __init__(self) -> None:
        self.walls: list[float] = []
        self.cpu: list[float] = []
        self._since = time.perf_counter(), time.process_time()

    def cycle_done(self, cycle: int, metrics: Any) -> None:
        """A cycle ends with its commit, and the next begins."""
        now = time.perf_counter(), time.process_time()
        self.walls.append(now[0] - self._since[0])
        self.cpu.append(now[1] - self._since[1])
        self._since = now


async def cycles(config: RunConfig, count: int) -> list[Figure]:
    """A run of ``count`` cycles; the first one, which starts everything, is not timed."""
    short = config.model_copy(update={"run": config.run.model_copy(update={"cycles": count})})
    sandbox = build.build_sandbox(short)
    engine, clock = build.build_engine(short), Clock()
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder) / "run", short)
        stages = build.build_stages(short, sandbox, build.build_corpus(short))
        try:
            await SelfPlay(short, stages, clock).run(engine.policy, engine.trainer, store)
        finally:
            store.close()
            await engine.policy.close()
            await sandbox.close()
    whole = median(clock.walls[1:])
    return [
        told("CPU of a cycle, without the sandbox's", median(clock.cpu[1:]), "s"),
        most("a cycle on one thread", whole, "s", 2.7),
        most("90 cycles", 90 * whole / 60, "min", 4.05),
    ]


async def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--model", help="a folder, instead of the weights that ship")
    arguments.add_argument("--config", default="scale")
    options = arguments.parse_args()
    config = load_config(options.config, [f"model.name={options.model}"] if options.model else [])
    good, sandbox = True, build.build_sandbox(config)
    try:
        bench = Bench(config, sandbox, options.quick)
        for part in (bench.designs, bench.hints, bench.luck, bench.agreement):
            good &= show(await part(), options.json)
        await bench.engine.policy.close()
    finally:
        await sandbox.close()
    good &= show(await cycles(config, 6 if options.quick else 24), options.json)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
