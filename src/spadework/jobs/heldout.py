"""Play a held-out pool with one policy. Every arm of a study is measured on the same pool."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spadework import build
from spadework.config import EvalSection, RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError, RunError, blames_machinery, cause_lines, causes
from spadework.policies.base import Policy
from spadework.rollout import PlaySettings
from spadework.selfplay.play.plan import group_episodes, plan_plays, play_all
from spadework.selfplay.pool.files import load_pool
from spadework.study.folder import StudyFolder
from spadework.study.spec import HeldOutSettings, Study
from spadework.types import Environment, Episode, Group

_MOST_LOST = EvalSection().max_fault_share
"""The largest share of the episodes that may be lost to faults of endpoint, model or sandbox."""


def heldout_environments(study: Study, file: Path, folder: StudyFolder, config: RunConfig) -> list[Environment]:
    """The held-out environments of a study, in order of id. Raises ``ConfigError``."""
    held = study.heldout
    assert held is not None
    if held.pool in study.pools:
        step = study.pools[held.pool]
        assert step.seed is not None
        named = {one.id: one for one in load_pool(folder.pool(held.pool, step.seed))}
    elif held.pool == "hand-set":
        from spadework.lessons.pools import hand_set_pool

        named = {one.id: one for one in hand_set_pool(held.lengths, seed=held.seed)}
    elif held.pool == "examples":
        named = {example.name: example.environment for example in build.bundled_examples(config)}
    else:
        named = {one.id: one for one in load_pool(file.parent / held.pool)}
    missing = [name for name in held.environments if name not in named]
    if missing:
        raise ConfigError(f"{file}: heldout.environments: {held.pool} has no {missing[0]!r}; it has {', '.join(named)}")
    kept = [named[name] for name in held.environments or sorted(named) if named[name].domain == config.domain]
    if not kept:
        raise ConfigError(f"{file}: heldout.pool: {held.pool} holds no environment of the domain {config.domain!r}")
    return kept


async def play_heldout(
    policy: Policy, sandbox: Sandbox, environments: Sequence[Environment], settings: PlaySettings, held: HeldOutSettings
) -> dict[str, Any]:
    """Evaluate once; returns win rates by arm, their standard error, and the counts that they rest on.

    An episode that ended in a fault is played once more, because a busy machine says nothing about an arm. If it fails
    again, it counts as a loss and stays in the denominator. All environments have equal weight. The standard error
    covers the variation between episodes only, since all arms play the same environments.

    Raises:
        RunError: endpoint, model or sandbox failed too many episodes twice, so that the losses are not the policy's.
    """
    counts = tuple(math.ceil(total / len(environments)) for total in (held.episodes, held.hinted_episodes))
    plays = plan_plays(environments, lambda one: bool(one.hint), 0, held.seed, (counts[0], counts[1]))
    episodes = await play_all(policy, sandbox, plays, settings, concurrency=None)
    failed = [place for place, episode in enumerate(episodes) if not episode.valid]
    again = await play_all(policy, sandbox, [plays[place] for place in failed], settings, concurrency=None)
    for place, episode in zip(failed, again, strict=True):
        episodes[place] = episode
    _check_faults(episodes)
    groups = group_episodes(episodes)
    unhinted = [group for group in groups if group.arm == "unhinted"]
    hinted = [group for group in groups if group.arm == "hinted"]
    rates = {group.environment_id: _win_rate(group) for group in unhinted}
    variances = [_win_rate(group) * (1 - _win_rate(group)) / max(1, len(group.episodes) - 1) for group in unhinted]
    returns = [math.fsum(group.returns) / len(group.episodes) for group in unhinted]
    return {
        "win_rate": _mean(list(rates.values())),
        # Standard error of a mean of independent win rates: the square root of the summed variances, over their number.
        "error": math.sqrt(math.fsum(variances)) / len(unhinted),
        "hinted_win_rate": _mean([_win_rate(group) for group in hinted]) if hinted else None,
        "return": _mean(returns),
        "environments": len(unhinted),
        "episodes": sum(len(group.episodes) for group in unhinted),
        "faults": sum(len(group.episodes) - len(group.valid) for group in unhinted),
        "replayed": len(failed),
        "digest": hashlib.sha256("".join(one.sha256 for one in environments).encode()).hexdigest()[:16],
        "by_environment": rates,
    }


def _check_faults(episodes: Sequence[Episode]) -> None:
    faults = [episode.fault for episode in episodes if episode.fault is not None]
    lost = sum(map(blames_machinery, faults))
    if lost > max(1.0, _MOST_LOST * len(episodes)):
        told = "; ".join(cause_lines(causes(faults), most=3))
        raise RunError(f"{lost} of {len(episodes)} held-out episodes failed by the machinery: {told}")


def _win_rate(group: Group) -> float:
    return sum(episode.win for episode in group.episodes) / len(group.episodes)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
