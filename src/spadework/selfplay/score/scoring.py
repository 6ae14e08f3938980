"""Score a cycle: from its designs and groups to agent rows, designer rows and scores (method section 2, step 3).

Nothing here plays an episode, so the loop and ``spadework rescore`` share this code.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spadework.config import RunConfig
from spadework.runs.cycle_record import Score
from spadework.selfplay.faults import failing_environments
from spadework.selfplay.play.allocation import Allocation
from spadework.selfplay.records import Evidence, Outcome
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.averages import build_average
from spadework.selfplay.score.ledger import Held, Ledger, Observed
from spadework.selfplay.score.payment import centre, hint_reward, raw_reward, role_scale
from spadework.selfplay.score.rewards import build_reward
from spadework.selfplay.score.rows import Scored, agent_rows, agent_samples
from spadework.selfplay.score.seeds import Estimate, estimate
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import CONTROL_ARMS, Design, Group

NOTHING = estimate({})
"""The estimate for an environment of which nothing was played."""
HINT_GROUP = "hint"
"""Prefix of the group of a row that trains a hint; the groups of programs begin with ``design``."""
HUNG = "ENV205"
"""Fault code for a call of the program that ran into its time limit."""


@dataclass(frozen=True, slots=True)
class CycleScores:
    """The scores of one cycle: the rows of both roles, and the reward of each design that was due."""

    agent: list[Scored]
    designer: list[Scored]
    scores: list[Score]
    estimates: dict[str, Estimate]
    """The estimate for each environment, by id."""
    metrics: dict[str, float]
    """Metrics of the scoring rounds that fell due."""


class Scoring:
    """Scores cycles in order. Its state consists of ``ledger`` and ``averages``.

    ``played`` is the config under which the episodes were allocated, if it differs from ``config``. Raises
    ``ConfigError`` for a reward, an estimator or an average that does not exist.
    """

    def __init__(
        self, config: RunConfig, ledger: Ledger, averages: SkillAverages, played: RunConfig | None = None
    ) -> None:
        self.config = config
        self.ledger = ledger
        self.averages = averages
        self.allocation = allocation_of(played or config)
        self.average = build_average(config.update)
        self._reward = build_reward(config.reward)
        self._advantage = build_advantage(config.agent)

    def cycle(self, cycle: int, designs: Sequence[Design], groups: Sequence[Group]) -> CycleScores:
        """Add a cycle's designs and groups, and pay the designs that are due.

        Args:
            cycle: the cycle of the run. Each cycle is scored once, in order.
            designs: all design attempts of the cycle.
            groups: all episodes of the cycle, by environment and arm.
        """
        # Control arms are evidence for the designer's reward alone: they train nothing and enter no estimate.
        paid = [group for group in groups if group.arm not in CONTROL_ARMS]
        arms = by_environment(paid)
        # In later cycles of a window the number of plays is fixed beforehand, so there is no allocation to correct for.
        known = self.ledger.known(cycle)
        weights = {name: None if name in known else self.allocation.weights(own) for name, own in arms.items()}
        estimates = {name: estimate(own, weights[name]) for name, own in arms.items()}
        self._hold(designs, estimates)
        for name, own in by_environment(groups).items():
            self.ledger.observe(cycle, name, _observed(own, estimates.get(name, NOTHING)))
        settings = self.config.agent
        agent = agent_rows(paid, self._advantage, settings)
        rounds = self._due_rounds(cycle)
        designer, scores = self._pay(rounds, agent_samples(paid, settings))
        potential = self.config.reward.learning_potential
        metrics = self.averages.metrics(potential.gamma_fast, potential.gamma_slow) if rounds else {}
        return CycleScores(agent, designer, scores, estimates, metrics)

    def _hold(self, designs: Sequence[Design], estimates: Mapping[str, Estimate]) -> None:
        """Add this cycle's designs to the ledger; ``Ledger.observe`` adds the evidence from their play."""
        for design in designs:
            if design.fault is not None:
                continue
            if design.environment_id is not None:
                self.ledger.hold(design, _evidence(design, estimates.get(design.environment_id, NOTHING)))
            elif self.config.designer.train_rejected:
                self.ledger.hold(design, None)

    def _due_rounds(self, cycle: int) -> list[list[Held]]:
        """The scoring rounds that are due, in order; a round holds the designs of one design cycle."""
        rounds: dict[int, list[Held]] = defaultdict(list)
        for held in self.ledger.due(cycle, flush=cycle == self.config.run.cycles - 1):
            rounds[held.design.cycle].append(held)
        return [rounds[design_cycle] for design_cycle in sorted(rounds)]

    def _pay(self, rounds: Sequence[Sequence[Held]], samples: int) -> tuple[list[Scored], list[Score]]:
        """Pay the due designs and hints: centre by design cycle and skill, then scale between the roles."""
        config = self.config
        centred: list[tuple[Held, float, float]] = []
        hints: list[tuple[Held, float]] = []
        for due in rounds:
            # The round is part of its own history: the slow average that a design is compared with includes it.
            self.averages.add_round(held.evidence for held in due if held.evidence is not None)
            own = [(held, raw) for held in due if (raw := self._raw(held)) is not None]
            skills = [held.design.skill for held, _ in own]
            rewards = centre([raw for _, raw in own], skills, config.reward.centre_below)
            centred += [(held, raw, reward) for (held, raw), reward in zip(own, rewards, strict=True)]
            if config.hint.train:
                hints += self._pay_hints(due)
        # Hints count as samples of the role, so that training them leaves the weight between the roles as it was.
        trained = (len(centred) if config.designer.train else 0) + len(hints)
        scale = role_scale(samples, trained, config.designer.every, config.reward)
        scores = [Score(held.design.id, raw, reward, reward * scale) for held, raw, reward in centred]
        rows = [_hint_row(held, reward * scale) for held, reward in hints]
        if config.designer.train:
            rows = [_design_row(held, reward * scale) for held, _, reward in centred] + rows
        return rows, scores

    def _pay_hints(self, due: Sequence[Held]) -> list[tuple[Held, float]]:
        """The hints of a scoring round, each with its regret, centred among the hints of its skill."""
        own: list[tuple[Held, float]] = []
        for held in due:
            raw = None if held.evidence is None else hint_reward(held.evidence)
            if raw is not None:
                own.append((held, raw))
        skills = [held.design.skill for held, _ in own]
        rewards = centre([raw for _, raw in own], skills, self.config.reward.centre_below)
        return [(held, reward) for (held, _), reward in zip(own, rewards, strict=True)]

    def _raw(self, held: Held) -> float | None:
        """The raw reward of a design; ``None`` if the evidence does not suffice, and the design is not paid."""
        if held.evidence is None or held.evidence.failing:
            return self.config.designer.rejected_reward
        evidence = dataclasses.replace(held.evidence, skill_returns=self.averages.of(held.evidence.skill))
        return raw_reward(evidence, self._reward, self.config.reward)


def _design_row(held: Held, advantage: float) -> Scored:
    design = held.design
    return Scored(design.segments, advantage, "designer", f"design/{design.cycle}", design.id)


def _hint_row(held: Held, advantage: float) -> Scored:
    design = held.design
    return Scored(design.hint_segments, advantage, "designer", f"{HINT_GROUP}/{design.cycle}", f"{design.id}/hint")


def by_environment(groups: Sequence[Group]) -> dict[str, dict[str, Group]]:
    """Sort groups into a mapping from environment id to arm to group."""
    arms: dict[str, dict[str, Group]] = defaultdict(dict)
    for group in groups:
        arms[group.environment_id][group.arm] = group
    return dict(arms)


def _hung(groups: Iterable[Group]) -> bool:
    """Whether a call of the program ran into its time limit in any episode."""
    return any(e.fault is not None and e.fault.code == HUNG for group in groups for e in group.episodes)


def _observed(arms: Mapping[str, Group], seen: Estimate) -> Observed:
    """The observations of an environment for the ledger. A hang in a control arm does not count against the design."""
    outcomes = [
        Outcome(episode.cycle, episode.arm, episode.seed, episode.return_)
        for group in arms.values()
        for episode in group.valid
    ]
    hung = _hung(group for arm, group in arms.items() if arm not in CONTROL_ARMS)
    failing = bool(failing_environments(arms.values()))
    return Observed(seen.unhinted_return, hung, failing, seen.seed_returns, tuple(outcomes))


def allocation_of(config: RunConfig) -> Allocation:
    """The allocation rule of a config."""
    full = max(config.play.episodes, config.hinted_episodes)
    return Allocation(config.play, config.reward, full, config.designer.every)


def _evidence(design: Design, seen: Estimate) -> Evidence:
    """The evidence of the design cycle. ``Ledger.observe`` adds the window's returns, including this cycle's."""
    return Evidence(
        design.skill, seen.regret, seen.unhinted_return, window=(), repaired=design.repaired, novelty=design.novelty
    )
