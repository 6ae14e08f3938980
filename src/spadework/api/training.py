"""Self-play from Python: a whole run, one cycle of it, or the designer alone."""

from __future__ import annotations

from pathlib import Path

from spadework import build
from spadework.api.inputs import ConfigSource, read_config
from spadework.api.opening import one_error, open_sandbox
from spadework.api.stored import StoredRun, open_run
from spadework.background import blocking
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError, RunError
from spadework.jobs.engine import open_policy
from spadework.observer import NullObserver, Observer
from spadework.policies.base import Policy
from spadework.run import train_run
from spadework.runs.store import RunStore
from spadework.selfplay.design.designer import SlotResult
from spadework.selfplay.design.offline import design_slots
from spadework.selfplay.loop import Collected, SelfPlay

_DESIGNED_AT_ONCE = 32
"""Slots that are filled at the same time."""


async def train_async(
    config: ConfigSource | None,
    folder: str | Path,
    observer: Observer | None = None,
    *,
    resume: bool = False,
    change_config: bool = False,
) -> StoredRun:
    """Train by self-play into a run directory, as ``spadework train`` does, until the config's last cycle.

    Args:
        config: a ``RunConfig``, the path of a TOML file, the name of a shipped config, TOML text, or nested dicts.
            ``None`` goes on with the folder's own config.
        folder: the run directory; made when it is missing.
        observer: is told of stages, pieces of work, notes and ended cycles.
        resume: go on with the run that the folder holds, from its last checkpoint.
        change_config: with ``resume``, take over settings that differ from those the run was started with.

    Returns:
        The finished run, as ``open_run`` gives it. Ctrl-C, or cancelling the task, stops after the write in flight, and
        ``resume=True`` goes on.

    Raises:
        ConfigError: the config cannot be used, or its model cannot be trained here.
        RunError: the folder holds a run and ``resume`` is false, or holds none and ``config`` is ``None``; settings
            differ and ``change_config`` is false; the disk is full; or too much of the machinery failed.

    Example:
        run = spadework.train("scripted", "runs/first")
        print(run.table("metrics").column("agent/unhinted_win_rate"))
    """
    path = Path(folder)
    read = None if config is None else read_config(config)
    if read is not None:
        build.check_trains(read)
    store = _open_store(path, read, resume=resume, change=change_config)
    try:
        with one_error():
            await train_run(read or store.config, store, observer or NullObserver())
    finally:
        store.close()
    return open_run(path)


async def collect_async(
    config: ConfigSource, policy: Policy | None = None, cycle: int = 0, observer: Observer | None = None
) -> Collected:
    """Design, play and score one cycle, and return its training rows. Nothing is trained and nothing is written.

    This is the half of a run that does not depend on who trains: an engine of your own takes the rows from here. It
    starts from an empty pool and memory; an engine that collects cycle after cycle keeps them by holding a
    ``spadework.selfplay.loop.SelfPlay`` as ``spadework.integrations.driven`` does.

    Args:
        config: as in ``train``.
        policy: designs and plays; the config's own model where it is ``None``.
        cycle: of the run that this would be: it names the draws.
        observer: is told of stages, pieces of work and notes.

    Returns:
        ``sequences`` (the ``TrainingRow`` of each sampled sequence: ``tokens``, ``loss_mask``, ``logprobs`` and
        ``advantages``, all of one length) and ``record`` (designs, environments, episodes, scores and metrics).

    Raises:
        ConfigError: the config cannot be used.
        RunError: too much of the machinery failed.

    Example:
        collected = spadework.collect("scripted")
        print(len(collected.sequences), collected.record.metrics["agent/unhinted_win_rate"])
    """
    read = read_config(config)
    watcher = observer or NullObserver()
    with one_error():
        if policy is not None:
            async with open_sandbox(read) as sandbox:
                return await _collect(read, policy, sandbox, cycle, watcher)
        async with open_policy(read, watcher.note) as (own, sandbox):
            return await _collect(read, own, sandbox, cycle, watcher)


async def design_async(config: ConfigSource, n: int = 1, *, observer: Observer | None = None) -> list[SlotResult]:
    """Have the config's designer write environments, as the design stage of a run does, without a run.

    Args:
        config: as in ``train``; ``designer.model`` designs where it is set, else the model itself.
        n: slots to fill. A slot whose attempts were all rejected stays empty.
        observer: is told of every slot that ends.

    Returns:
        One record a slot: ``designs`` (every attempt, with its prompt, reply, source and findings) and ``environment``
        (what was accepted, or ``None``). ``write_pool`` keeps the environments.

    Raises:
        ConfigError: the config cannot be used, or designs nothing.

    Example:
        slots = spadework.design("scripted", n=4)
        pool = [slot.environment for slot in slots if slot.environment]
        spadework.write_pool(Path("pool.parquet"), pool)
    """
    read = read_config(config)
    watcher = observer or NullObserver()
    if not read.designer.environments:
        raise ConfigError("designer.environments is 0: this config designs nothing; set it to 1 or more")
    with one_error():
        async with open_policy(read, watcher.note, designs=True) as (policy, sandbox):
            stages = build.build_stages(read, sandbox, build.build_corpus(read))
            assert stages.designer is not None
            seen = stages.seen if read.validation.refuse_copies else None
            watcher.stage(None, "design", n)
            results: list[SlotResult] = []
            async for _, result in design_slots(stages.designer, policy, range(n), _DESIGNED_AT_ONCE, seen):
                results.append(result)
                watcher.advance(sum(segment.sampled for design in result.designs for segment in design.segments))
    return results


train = blocking(train_async)
collect = blocking(collect_async)
design = blocking(design_async)


def _open_store(path: Path, config: RunConfig | None, *, resume: bool, change: bool) -> RunStore:
    if not resume:
        if config is None:
            raise ConfigError("config is None, which means the config of a run: name one, or pass resume=True")
        if (path / "run.sqlite").exists():
            raise RunError(f"{path} holds a run already; pass resume=True to go on with it, or give another folder")
        return RunStore.create(path, config)
    store = RunStore.resume(path)
    if config is not None:
        store.adopt_config(config, change=change, how="pass change_config=True")
    return store


async def _collect(config: RunConfig, policy: Policy, sandbox: Sandbox, cycle: int, observer: Observer) -> Collected:
    author = await build.build_author(config, sandbox, observer.note)
    try:
        stages = build.build_stages(config, sandbox, build.build_corpus(config), author)
        return await SelfPlay(config, stages, observer).collect(policy, cycle)
    finally:
        if author is not None:
            await author.close()
