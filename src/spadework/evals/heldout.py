"""Held-out environments: how often a model wins in environments that it never trained on, an arm a suite.

Both arms reset with the same seeds, so two results (arms, checkpoints, models) pair episode by episode.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from spadework.envs.registry import DEFAULT_DOMAIN
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import error_of
from spadework.evals.records import Item, Outcome, Setting
from spadework.evals.registry import versions
from spadework.policies.base import Policy
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.types import Arm, Environment, Key, derive_seed


@dataclass(frozen=True, slots=True)
class Rules:
    """How held-out environments are played."""

    settings: Callable[[str], PlaySettings]
    episodes: int = 8
    """Of each environment, each with a seed of its own."""
    seed: int = 0
    preset: str = "paper"


class HeldOut:
    """A ``Benchmark`` of one arm over a fixed list of environments.

    Args:
        name: of the suite.
        environments: with the group that each is reported under (its skill, or when it was made).
        arm: ``hinted`` leaves out environments without a hint.
        sandbox: runs them.
        rules: how they are played.
    """

    def __init__(
        self,
        name: str,
        environments: Sequence[tuple[Environment, str]],
        arm: Arm,
        sandbox: Sandbox,
        rules: Rules,
    ) -> None:
        self._asked = [(one, group) for one, group in environments if arm == "unhinted" or one.hint]
        self._arm, self._sandbox, self._rules = arm, sandbox, rules
        domains = sorted({one.domain for one, _ in self._asked}) or [DEFAULT_DOMAIN]
        play = rules.settings(domains[0])
        sampling = asdict(play.sampling)
        digest = _digest([f"{one.sha256} {group} {one.hint}" for one, group in self._asked])
        self.setting = Setting(
            suite=name,
            preset=rules.preset,
            sampling={key: value for key, value in sampling.items() if value not in ((), None)}
            | {"episodes": rules.episodes, "max_turns": play.limits.max_turns, "seed": rules.seed}
            | {
                "max_episode_tokens": play.max_episode_tokens,
                "prompts": _digest([f"{one} {rules.settings(one).opening}" for one in domains])[:12],
            },
            versions=versions(),
            data=f"{len(self._asked)} environments sha256 {digest}",
        )

    def items(self) -> list[Item]:
        """Every episode, the episodes of an environment beside each other."""
        return [
            Item(f"{one.id}/{index}", group, one.id)
            for one, group in self._asked
            for index in range(self._rules.episodes)
        ]

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """1 for a win. An episode that ended in a fault raises it."""
        index = int(item.id.rpartition("/")[2])
        environment = next(one for one, _ in self._asked if one.id == item.unit)
        seed = derive_seed(self._rules.seed, "held out", environment.id, index) % 2**31
        play = Play(environment, self._arm, index, seed, 0, key)
        episode = await play_episode(policy, self._sandbox, play, self._rules.settings(environment.domain))
        if episode.fault is not None:
            raise error_of(episode.fault)
        last = episode.turns[-1].action if episode.turns else ""
        detail = {
            "return": round(episode.return_, 6),
            "ending": episode.ending,
            "turns": len(episode.turns),
            "seed": seed,
        }
        return Outcome(float(episode.win), last, sum(part.sampled for part in episode.segments), detail)

    async def close(self) -> None:
        """The sandbox is its owner's."""


def split_by_document(
    environments: Iterable[Environment], share: float, seed: int = 0
) -> tuple[list[Environment], list[Environment]]:
    """Environments to train on, and those held out: about ``share`` of the documents, drawn by ``seed``.

    All environments of one document go to one side, and so do a program and its copies; each side's membership follows
    from the document alone, whatever else the pool holds.
    """
    sides: tuple[list[Environment], list[Environment]] = ([], [])
    for group in _siblings(list(environments)):
        name = min(_document(one) for one in group)
        sides[derive_seed(seed, "held out", name) < share * 2**63].extend(group)
    return sides


def _siblings(environments: Sequence[Environment]) -> list[list[Environment]]:
    """Environments joined by a document or by their text, each group in order."""
    groups: list[tuple[set[str], list[Environment]]] = []
    for one in environments:
        marks = {_document(one), one.sha256}
        joined = [group for group in groups if group[0] & marks]
        groups = [group for group in groups if not group[0] & marks]
        merged = [member for group in joined for member in group[1]]
        groups.append((marks.union(*(group[0] for group in joined)), [*merged, one]))
    return [members for _, members in groups]


def _document(environment: Environment) -> str:
    return f"document {environment.document_id}" if environment.document_id else environment.sha256


def by_skill(environments: Iterable[Environment]) -> list[tuple[Environment, str]]:
    """Each with its skill as the group."""
    return [(one, one.skill or "no skill") for one in environments]


def by_age(environments: Sequence[Environment], parts: int) -> list[tuple[Environment, str]]:
    """Each with the span of cycles in which it entered the pool: as many spans as ``parts``, equal in environments."""
    ordered = sorted(environments, key=lambda one: one.cycle)
    cut = [ordered[len(ordered) * part // parts : len(ordered) * (part + 1) // parts] for part in range(parts)]
    return [(one, f"cycles {own[0].cycle}-{own[-1].cycle}") for own in cut for one in own]


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()
