"""A cycle's collection: who waits for whom, what a failed hint leaves, the deadline and what it carries over."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import random
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import pytest_asyncio

from spadework import build
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.domains.games_demo import demo_script
from spadework.envs.check.seeds import draw_seeds
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.errors import PolicyError, RunError
from spadework.policies.base import Completion, SamplingParams
from spadework.runs.store import RunStore
from spadework.selfplay.keys import DESIGN, HINT, PLAY
from spadework.selfplay.loop import SelfPlay
from spadework.testing.scripted import ScriptedPolicy, ScriptedTrainer
from spadework.types import Key, derive_seed


class Nobody:
    def stage(self, cycle: int, name: str, total: int) -> None: ...
    def advance(self, tokens: int) -> None: ...
    def note(self, text: str) -> None: ...
    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None: ...


class Timed(ScriptedPolicy):
    """The scripted policy, which waits as told before each reply and notes what began and ended."""

    def __init__(self, delay: Callable[[Key], float], script: Any = demo_script) -> None:
        super().__init__(script)
        self.delay = delay
        self.log: list[tuple[str, Key]] = []
        self.after: dict[Key, Key] = {}
        """Beginning of a key -> that of keys one of which must have begun before it ends."""

    async def sample(self, tokens: Any, params: SamplingParams, key: Key) -> Completion:
        self.log.append(("begin", key))
        await asyncio.sleep(self.delay(key))
        for own, other in self.after.items():
            while key[: len(own)] == own and not any(
                kind == "begin" and k[: len(other)] == other for kind, k in self.log
            ):
                await asyncio.sleep(0.01)
        self.log.append(("end", key))
        return await super().sample(tokens, params, key)

    def first(self, what: str, *start: int) -> int:
        """Where the first such event of keys that begin so stands."""
        return next(i for i, (kind, key) in enumerate(self.log) if kind == what and key[: len(start)] == start)


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[ForkServer]:
    async with ForkServer() as box:
        yield box


def config(*overrides: str) -> RunConfig:
    quick = ["validation.panel=false", "validation.seeds=2", "designer.environments=2", "play.episodes=3"]
    return load_config("scripted", [*quick, *overrides])


def self_play(config: RunConfig, sandbox: ForkServer, observer: Nobody | None = None) -> SelfPlay:
    stages = build.build_stages(config, sandbox, build.build_corpus(config))
    return SelfPlay(config, stages, observer or Nobody())


def sound(messages: Any, rng: random.Random, version: int) -> str:
    """The demo without its broken programs."""
    reply = demo_script(messages, rng, version)
    return reply.replace("self.turn = \n", "self.turn = 0\n")


async def test_play_begins_while_others_are_designed_and_unhinted_play_does_not_wait_for_the_hint(
    sandbox: ForkServer,
) -> None:
    policy = Timed(lambda key: 0.0, sound)
    unhinted, hinted = (0, PLAY, 0, 0), (0, PLAY, 0, 1)
    policy.after = {(0, HINT, 0): unhinted, (0, DESIGN, 1): hinted}
    collected = await asyncio.wait_for(self_play(config(), sandbox).collect(policy, 0), 60)
    assert policy.first("begin", *unhinted) < policy.first("end", 0, HINT, 0)
    assert policy.first("end", 0, HINT, 0) < policy.first("begin", *hinted) < policy.first("end", 0, DESIGN, 1)
    record = collected.record
    assert [design.id for design in record.designs] == ["0-0-0", "0-1-0"]
    assert [environment.design_id for environment in record.environments] == ["0-0-0", "0-1-0"]
    assert all(environment.hint for environment in record.environments)
    assert [(e.environment_id, e.arm, e.index) for e in record.episodes] == [
        (one.id, arm, index) for one in record.environments for arm in ("unhinted", "hinted") for index in range(3)
    ]


async def test_no_play_starts_while_a_program_is_checked(sandbox: ForkServer) -> None:
    run, under_way, seen = self_play(config(), sandbox), 0, []
    designer, count = run.stages.designer, iter(range(100))
    assert designer is not None
    real = designer.tools.validate

    async def validate(source: str) -> Any:
        nonlocal under_way
        under_way += 1
        try:
            await asyncio.sleep(0.3 * next(count))
            return await real(source)
        finally:
            under_way -= 1

    def delay(key: Key) -> float:
        if key[1] == PLAY:
            seen.append(under_way)
        return 0.0

    designer.tools = dataclasses.replace(designer.tools, validate=validate)
    await run.collect(Timed(delay, sound), 0)
    assert seen and not any(seen)


async def test_order_of_arrival_changes_nothing_of_a_deterministic_run(sandbox: ForkServer) -> None:
    async def collect(seed: int) -> Any:
        policy = Timed(lambda key: derive_seed(seed, *key) % 20 / 1000)
        record = (
            await self_play(config("run.deterministic=true", "play.control_arms=['placebo']"), sandbox).collect(
                policy, 0
            )
        ).record
        return record.designs, record.environments, record.episodes, record.plays

    first = await collect(0)
    assert first == await collect(1)
    assert {episode.arm for episode in first[2]} == {"unhinted", "hinted", "placebo"}


async def test_a_failed_hint_takes_its_episodes_with_it_and_the_slot_tries_again(sandbox: ForkServer) -> None:
    def script(messages: Any, rng: random.Random, version: int) -> str:
        text = messages[-1]["content"]
        return "" if "source of a text game" in text and "Sums7" in text else sound(messages, rng, version)

    def low(messages: Any, rng: random.Random, version: int) -> str:
        reply = script(messages, rng, version)
        first = rng.random() < 0.5 and "Write one new environment" in messages[-1]["content"]
        return reply.replace("class Sums", "class Sums7") if first else reply

    policy = Timed(lambda key: 0.01, low)
    record = (
        await self_play(
            config("designer.environments=4", "designer.attempts=6", "run.deterministic=true"), sandbox
        ).collect(policy, 0)
    ).record
    failed = [design for design in record.designs if design.findings and design.findings[0].startswith("HINT")]
    assert failed and record.metrics["agent/rejected_episodes"] > 0
    assert {episode.environment_id for episode in record.episodes} == {one.id for one in record.environments}
    assert all("class Sums7" not in one.source for one in record.environments)
    assert len(record.environments) == 4


async def test_of_twins_one_is_kept_and_the_other_slot_tries_again(sandbox: ForkServer) -> None:
    count = iter(range(100))

    def script(messages: Any, rng: random.Random, version: int) -> str:
        if "Write one new environment" not in messages[-1]["content"]:
            return sound(messages, rng, version)
        return sound(messages, random.Random(max(0, next(count) - 2)), version)  # the first three are one program

    for setting in ("run.deterministic=true", "run.deterministic=false"):
        count = iter(range(100))
        record = (await self_play(config(setting), sandbox).collect(Timed(lambda key: 0.0, script), 0)).record
        assert len({one.source for one in record.environments}) == len(record.environments) == 2
        assert any(design.findings and design.findings[0].startswith("COPY") for design in record.designs)


async def test_late_episodes_are_faults_or_go_on_in_the_next_cycle(sandbox: ForkServer, tmp_path: Any) -> None:
    def delay(key: Key) -> float:
        late = key[:2] == (0, PLAY) and key[4] == 0  # episode 0 of every group in cycle 0
        return 2.6 if late and key[5] == 0 else 0.0

    given = ["play.deadline_seconds=1.5", "run.cycles=3", "designer.every=4", "run.max_fault_share=0.9"]
    for carry in (0, 2):
        settings = config(*given, f"play.carry_over={carry}")
        policy = Timed(delay, sound)
        store = RunStore.create(tmp_path / str(carry), settings)
        self_run = self_play(settings, sandbox)
        records = []
        collect = self_run.collect

        async def noted(policy: Any, cycle: int, collect: Any = collect, records: Any = records) -> Any:
            records.append(collected := await collect(policy, cycle))
            return collected

        self_run.collect = noted  # type: ignore[method-assign]
        await self_run.run(policy, ScriptedTrainer(policy), store)
        store.close()
        first = records[0].record
        late = [e for e in first.episodes if e.fault is not None and e.fault.code == "LATE"]
        assert all(math.isnan(e.return_) and e.ending == "fault" for e in late)
        assert len(late) == (4 if carry == 0 else 2), "the hinted arm is never carried: its weights would differ"
        rest = [e for one in records[1:] for e in one.record.episodes]
        carried = [e for e in rest if e.id.startswith("0-")]
        assert len(carried) == (0 if carry == 0 else 2)
        assert all(e.cycle > 0 and e.arm == "unhinted" and e.valid for e in carried)
        assert all(segment.policy_version == 1 for e in carried for segment in e.segments), "the weights of the reply"
        assert self_run._unfinished == []


def losing(messages: Any, rng: random.Random, version: int) -> str:
    """Sound programs, and an agent that never solves any."""
    opening = messages[0]["content"] + messages[-1]["content"]
    designs = "Write one new environment" in opening or "source of a text game" in opening
    return sound(messages, rng, version) if designs else "\\boxed{no idea}"


@pytest.mark.parametrize(("hinted", "hopeless"), [(3, 2.0), (0, 0.0)])
async def test_what_nobody_solves_is_hopeless_only_where_the_hint_was_seen_to_be_no_help(
    sandbox: ForkServer, hinted: int, hopeless: float
) -> None:
    game = self_play(config("pool.retire=true", f"play.hinted_episodes={hinted}"), sandbox)
    record = (await game.collect(Timed(lambda key: 0.0, losing), 0)).record
    assert {play.win_rate for play in record.plays} == {0.0}
    assert record.metrics["pool/hopeless"] == hopeless
    assert len(game.stages.pool.environments) == 2 - hopeless


async def test_a_bundled_environment_may_fill_a_slot_again(sandbox: ForkServer, tmp_path: Any) -> None:
    def nothing(messages: Any, rng: random.Random, version: int) -> str:
        return "\\boxed{no idea}"

    given = ["pool.retire=true", "pool.seed_examples=true", "designer.attempts=1", "designer.every=1"]
    settings = config(*given, "run.cycles=2")
    game, policy = self_play(settings, sandbox), Timed(lambda key: 0.0, nothing)
    game.stages.fillers = game.stages.fillers[:2]
    store = RunStore.create(tmp_path / "run", settings)
    await game.run(policy, ScriptedTrainer(policy), store)
    rows = store.rows("environments")
    store.close()
    assert sorted((row["id"], row["cycle"]) for row in rows) == sorted(
        (one.id, cycle) for one in game.stages.fillers for cycle in (0, 1)
    )


async def test_a_changed_config_goes_on_with_what_still_has_a_place(sandbox: ForkServer) -> None:
    game, policy = self_play(config("difficulty.controller=sliding_window"), sandbox), Timed(lambda key: 0.0, sound)
    await game.collect(policy, 0)
    held = game.stages.pool.environments
    for count in (1, 3):
        other = self_play(config(f"designer.environments={count}"), sandbox)
        other.stages.load_state_dict(json.loads(json.dumps(game.stages.state_dict())))
        assert other.stages.pool.environments == held[:count]
        record = (await other.collect(policy, 4)).record
        assert record.environments and {one.slot for one in record.designs} == set(range(count))


class Refused(ScriptedPolicy):
    """A model whose designer cannot be asked."""

    async def sample(self, tokens: Any, params: SamplingParams, key: Key) -> Completion:
        raise PolicyError("REFUSED", "wrong key")


@pytest.mark.parametrize("fillers", ["false", "true"])
async def test_a_run_whose_designer_cannot_be_asked_stops_though_others_could_be_played(
    sandbox: ForkServer, fillers: str
) -> None:
    run = self_play(config("designer.attempts=2", f"pool.seed_examples={fillers}"), sandbox)
    run.stages.author = Refused(sound)
    with pytest.raises(RunError, match=r"all 4 attempts.*4 x endpoint REFUSED wrong key"):
        await run.collect(Timed(lambda key: 0.0, sound), 0)


def spoilt(share: float) -> Any:
    """The demo's programs, which raise at that share of seeds other than those that checks draw."""

    def script(messages: Any, rng: random.Random, version: int) -> str:
        fault = f"if seed not in {draw_seeds(40)} and seed % 100 < {share * 100}: raise KeyError(seed)\n        "
        return sound(messages, rng, version).replace("self.turn = 0\n", f"{fault}self.turn = 0\n", 1)

    return script


async def test_an_environment_whose_plays_mostly_fail_leaves_the_pool_aloud(sandbox: ForkServer) -> None:
    lines = []

    class Told(Nobody):
        def note(self, text: str) -> None:
            lines.append(text)

    run = self_play(config("play.episodes=12", "run.max_fault_share=0.95"), sandbox, Told())
    record = (await run.collect(Timed(lambda key: 0.0, spoilt(0.75)), 0)).record
    failing = [event.environment_id for event in record.events if event.why == "failing"]
    assert failing and record.metrics["pool/failing"] == len(failing)
    assert all(any(name in line and "KeyError" in line for line in lines) for name in failing)
    assert not {one.id for one in run.stages.pool.environments} & set(failing)
    due = run.stages.ledger.due(0, flush=True)
    paid = {held.design.environment_id: run._scoring._raw(held) for held in due}
    assert all(paid[name] == run.config.designer.rejected_reward for name in failing)


async def test_a_run_stops_when_more_plays_fail_than_it_allows_whoever_is_to_blame(sandbox: ForkServer) -> None:
    run = self_play(config("play.episodes=12", "run.max_fault_share=0.3"), sandbox)
    with pytest.raises(RunError, match=r"of 48 episodes failed, more than run.max_fault_share = 0.3: .* x program"):
        await run.collect(Timed(lambda key: 0.0, spoilt(0.75)), 0)


@pytest.mark.parametrize("rewrite", [True, False])
async def test_memory_tells_the_newest_win_rate_or_that_of_the_cycle_in_which_an_environment_entered(
    sandbox: ForkServer, rewrite: bool
) -> None:
    play = self_play(config(f"memory.rewrite={str(rewrite).lower()}", "designer.every=2"), sandbox)
    memory, learned = play.stages.memory, ScriptedPolicy(sound)
    learned.version = 100  # wins 19 games in 20
    await play.collect(ScriptedPolicy(losing), 0)
    entered = memory.entries
    await play.collect(learned, 1)
    assert entered and all(entry.win_rate == 0 for entry in entered)
    assert [entry.environment_id for entry in memory.entries] == [entry.environment_id for entry in entered]
    if rewrite:
        assert all(entry.win_rate > 0 for entry in memory.entries)
    else:
        assert memory.entries == entered
