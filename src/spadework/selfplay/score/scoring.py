"""What play pays: from a cycle's designs and groups to agent rows, designer rows and scores (method section 2, step 3).

Nothing here plays, so the loop and ``spadework rescore`` share it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spadework.config import RunConfig
from spadework.runs.store import Score
from spadework.selfplay.play.allocation import Allocation
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.advantages import group_advantages
from spadework.selfplay.score.ledger import Held, Ledger
from spadework.selfplay.score.rewards import SkillAverages, centre, raw_reward, role_scale
from spadework.selfplay.score.rows import Scored, agent_rows
from spadework.selfplay.score.seeds import Estimate, estimate
from spadework.types import CONTROL_ARMS, Design, Group

NOTHING = estimate({})
"""Of an environment that nothing was played of."""
HUNG = "ENV205"
"""A call of the program ran into its time limit."""


@dataclass(frozen=True, slots=True)
class CycleScores:
    """One cycle, scored: rows of both roles, and what each design that was due is paid."""

    agent: list[Scored]
    designer: list[Scored]
    scores: list[Score]
    estimates: dict[str, Estimate]
    """What was seen of each environment."""


class Scoring:
    """Scores cycles in order. Its state is that of ``ledger`` and ``averages``.

    ``played`` is the config that the episodes were allocated under, where that is another one.
    """

    def __init__(
        self, config: RunConfig, ledger: Ledger, averages: SkillAverages, played: RunConfig | None = None
    ) -> None:
        self.config, self.ledger, self.averages = config, ledger, averages
        self.allocation = allocation_of(played or config)

    def cycle(
        self, cycle: int, designs: Sequence[Design], groups: Sequence[Group], skills: Mapping[str, str]
    ) -> CycleScores:
        """Take in a cycle's designs and play, and pay what is due.

        Args:
            cycle: of the run; each is scored once, in order.
            designs: all attempts of the cycle.
            groups: all that was played.
            skills: environment id -> skill, of every environment in ``groups``.
        """
        groups = [group for group in groups if group.arm not in CONTROL_ARMS]
        arms = by_environment(groups)
        known = self.ledger.known(cycle)
        weights = {name: None if name in known else self.allocation.weights(own) for name, own in arms.items()}
        estimates = {name: estimate(own, weights[name]) for name, own in arms.items()}
        self._observe(cycle, designs, arms, estimates)
        settings = self.config.agent
        agent = agent_rows(
            groups,
            group_advantages,
            train_hinted=settings.train_hinted,
            mask_truncated=settings.mask_truncated,
            mask_malformed=settings.mask_malformed,
        )
        designer, scores = self._pay(cycle, len(agent))
        for environment_id, seen in estimates.items():
            self.averages.update(skills[environment_id], seen.unhinted_return)
        return CycleScores(agent, designer, scores, estimates)

    def _observe(
        self,
        cycle: int,
        designs: Sequence[Design],
        arms: Mapping[str, Mapping[str, Group]],
        estimates: Mapping[str, Estimate],
    ) -> None:
        """Give the ledger this cycle's designs and returns."""
        for design in designs:
            if design.fault is not None:
                continue
            if design.environment_id is not None:
                self.ledger.hold(design, _evidence(design, estimates.get(design.environment_id, NOTHING)))
            elif self.config.designer.train_rejected:
                self.ledger.hold(design, None)
        for environment_id, own in arms.items():
            seen = estimates[environment_id]
            self.ledger.observe(cycle, environment_id, seen.unhinted_return, _hung(own.values()), seen.seed_returns)

    def _pay(self, cycle: int, agent_count: int) -> tuple[list[Scored], list[Score]]:
        """Pay the designs that are due: raw, centred by design cycle and skill, scaled between the roles."""
        config = self.config
        due = self.ledger.due(cycle, flush=cycle == config.run.cycles - 1)
        raws = [(held, raw) for held in due if (raw := self._raw(held)) is not None]
        centred: list[tuple[Held, float, float]] = []
        for design_cycle in sorted({held.design.cycle for held, _ in raws}):
            own = [(held, raw) for held, raw in raws if held.design.cycle == design_cycle]
            rewards = centre([raw for _, raw in own], [held.design.skill for held, _ in own])
            centred += [(held, raw, reward) for (held, raw), reward in zip(own, rewards, strict=True)]
        trains = config.designer.train
        scale = role_scale(agent_count, len(centred) if trains else 0, config.designer.every, config.reward)
        scores = [Score(held.design.id, raw, reward, reward * scale) for held, raw, reward in centred]
        if not trains:
            return [], scores
        return [
            Scored(held.design.segments, reward * scale, "designer", f"design/{held.design.cycle}", held.design.id)
            for held, _, reward in centred
        ], scores

    def _raw(self, held: Held) -> float | None:
        if held.evidence is None:
            return self.config.designer.rejected_reward
        return raw_reward(held.evidence, self.config.reward, self.averages)


def by_environment(groups: Sequence[Group]) -> dict[str, dict[str, Group]]:
    """Environment id -> arm -> group."""
    arms: dict[str, dict[str, Group]] = defaultdict(dict)
    for group in groups:
        arms[group.environment_id][group.arm] = group
    return dict(arms)


def _hung(groups: Iterable[Group]) -> bool:
    """Whether a call of the program ran into its time limit in any episode."""
    return any(e.fault is not None and e.fault.code == HUNG for group in groups for e in group.episodes)


def allocation_of(config: RunConfig) -> Allocation:
    """How a config's episodes are allocated."""
    full = max(config.play.episodes, config.hinted_episodes)
    return Allocation(config.play, config.reward, full, config.designer.every)


def _evidence(design: Design, seen: Estimate) -> Evidence:
    """Of the design cycle; the window's returns, this cycle's among them, come in by ``Ledger.observe``."""
    return Evidence(
        design.skill, seen.regret, seen.unhinted_return, window=(), repaired=design.repaired, novelty=design.novelty
    )
