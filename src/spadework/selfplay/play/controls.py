"""Control arms: another text in the hint's place, which separates what a hint explains from what it gives away.

``placebo`` shows the hint of another environment, and ``answer_only`` shows the oracle's actions and nothing else. They
are played beside the hinted arm on the same seeds. They are only reported: they affect no reward and are never trained
on.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence

from spadework.envs.check.players import oracle
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.errors import FaultError
from spadework.rollout import Play
from spadework.selfplay.keys import play_key
from spadework.types import Arm, Environment, derive_seed

Texts = Mapping[tuple[str, int], str]
"""(environment id, episode seed) -> the text in the hint's place."""


async def control_plays(
    sandbox: Sandbox, plays: Sequence[Play], arms: Sequence[Arm], limits: Limits, run_seed: int
) -> list[Play]:
    """Plan the control arms: for each hinted play, one play of every control arm that has a text for it.

    Args:
        sandbox: the sandbox in which oracles play.
        plays: the plays of a cycle; the hints of their environments are the placebos of the others.
        arms: the requested control arms.
        limits: the limits of an oracle's instances.
        run_seed: seeds the choice of placebos.
    """
    hinted = [play for play in plays if play.arm == "hinted"]
    found: list[Play] = []
    for arm in arms:
        texts = placebos(plays, run_seed) if arm == "placebo" else await _answers(sandbox, hinted, limits)
        found += [
            dataclasses.replace(play, arm=arm, key=play_key(play.cycle, play.key[2], arm, play.index), control=text)
            for play in hinted
            if (text := texts.get((play.environment.id, play.seed)))
        ]
    return found


def placebos(plays: Sequence[Play], run_seed: int) -> Texts:
    """For each environment the hint of another one in play, drawn once per cycle; absent where no other has a hint."""
    playing = {play.environment.id: play.environment for play in plays}
    texts = {}
    for play in plays:
        own = play.environment
        hints = sorted({other.hint for other in playing.values() if other.hint and other.hint != own.hint})
        if hints:
            draw = derive_seed(run_seed, "placebo", play.cycle, own.id) % len(hints)
            texts[own.id, play.seed] = hints[draw]
    return texts


async def _answers(sandbox: Sandbox, plays: Sequence[Play], limits: Limits) -> Texts:
    """The actions of each environment's oracle on each seed; absent where there is no oracle or it fails."""
    environments = {play.environment.id: play.environment for play in plays}
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                _oracle_texts(sandbox, environment, {p.seed for p in plays if p.environment.id == name}, limits)
            )
            for name, environment in environments.items()
        ]
    return {key: text for task in tasks for key, text in task.result().items()}


async def _oracle_texts(sandbox: Sandbox, environment: Environment, seeds: set[int], limits: Limits) -> Texts:
    texts: dict[tuple[str, int], str] = {}
    domain = find_domain(environment.domain)
    try:
        played = await sandbox.open(environment.source, limits)
        try:
            shadow = await sandbox.open(environment.source, limits)
            try:
                for seed in sorted(seeds):
                    play = await oracle(played, shadow, seed, domain, played.max_turns)
                    texts[environment.id, seed] = "\n".join(["Play this, turn by turn:", *play.actions])
            finally:
                await shadow.close()
        finally:
            await played.close()
    except FaultError:
        return texts  # seeds without a text are left out of this arm; the hinted arm will report the fault
    return texts
