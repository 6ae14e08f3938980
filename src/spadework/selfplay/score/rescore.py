"""Score a stored run again, under its own settings or others, and report what changes.

Nothing is played. Returns come from the stored turns, and rewards and advantages from the same ``Scoring`` as in the
loop.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spadework import types
from spadework.config import RunConfig
from spadework.episode import episode_return
from spadework.errors import RunError
from spadework.runs.cycle_record import Score
from spadework.runs.reading import cycle_episodes, read_designs, read_environments
from spadework.runs.store import RunStore
from spadework.runs.tables import read_sequences
from spadework.selfplay.play.plan import group_episodes
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.rows import Average, Scored, build_batch
from spadework.selfplay.score.scoring import CycleScores, Scoring
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import Design, Episode, Segment


@dataclass(frozen=True, slots=True)
class Rescored:
    """The scores of a run: rewards by design id, advantages by group id and episode id (none without a gradient)."""

    scores: Mapping[str, Score]
    advantages: Mapping[str, Mapping[str, float]]
    differing_cycles: tuple[int, ...]
    """Cycles whose stored training rows differ, in any digit, from the rows that these scores give."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The differences between two scorings; ``None`` stands for a design that is not paid in one of them."""

    designs: tuple[tuple[str, Score | None, Score | None], ...]
    groups: tuple[str, ...]


def stored_scores(store: RunStore) -> dict[str, Score]:
    """The stored scores of the run's designs."""
    rows = [{key: value for key, value in row.items() if key != "cycle"} for row in store.rows("scores")]
    return {row["design_id"]: Score(**row) for row in rows}


def rescore(store: RunStore, config: RunConfig) -> Rescored:
    """Score every stored cycle under ``config``, in order. Raises ``RunError`` for a run that lacks a record."""
    scoring = Scoring(
        config,
        Ledger(config.delay, config.designer.every),
        SkillAverages(),
        played=store.config,
    )
    designs: dict[int, list[Design]] = defaultdict(list)
    for design in read_designs(store):
        designs[design.cycle].append(design)
    rows = {int(path.stem): path for path in store.sequence_files()}
    scores: dict[str, Score] = {}
    advantages: dict[str, dict[str, float]] = defaultdict(dict)
    differing = []
    ended = store.ended()
    known = {environment.id for environment in read_environments(store)}
    for cycle, episodes in cycle_episodes(store):
        _check_recorded(store, cycle, episodes, known)
        paid = [_repaid(episode, config) for episode in episodes]
        scoring.config = _ending_with(cycle, config) if cycle in ended else config
        scored = scoring.cycle(cycle, designs[cycle], group_episodes(paid))
        scores |= {score.design_id: score for score in scored.scores}
        for row in scored.agent:
            advantages[row.group_id][row.source_id] = row.advantage
        stored = read_sequences(rows[cycle])
        trained = [row for row in stored if any(row.advantages)]  # others were kept for the KL term alone
        if _batch(scored, stored, scoring.average) != trained:
            differing.append(cycle)
    return Rescored(scores, dict(advantages), tuple(differing))


def moved(old: Rescored, new: Rescored) -> Moved:
    """The differences between two scorings of one run, in order."""
    ids = [*old.scores, *(name for name in new.scores if name not in old.scores)]
    pairs = [(name, old.scores.get(name), new.scores.get(name)) for name in ids]
    groups = dict.fromkeys([*old.advantages, *new.advantages])
    return Moved(
        tuple((name, was, now) for name, was, now in pairs if was != now),
        tuple(name for name in groups if old.advantages.get(name) != new.advantages.get(name)),
    )


def _check_recorded(store: RunStore, cycle: int, episodes: Iterable[Episode], known: Collection[str]) -> None:
    for episode in episodes:
        if episode.environment_id not in known:
            raise RunError(
                f"{store.path} cannot be rescored: cycle {cycle} played the environment {episode.environment_id}, of "
                "which the run has no record"
            )


def _ending_with(cycle: int, config: RunConfig) -> RunConfig:
    """The config under which ``cycle`` was the last of the run, so that all waiting designs were paid in it."""
    return config.model_copy(update={"run": config.run.model_copy(update={"cycles": cycle + 1})})


def _repaid(episode: Episode, config: RunConfig) -> Episode:
    """The episode with its return computed again under ``config``."""
    if not episode.valid:
        return episode
    rewards = [turn.reward for turn in episode.turns]
    agent = config.agent
    return dataclasses.replace(
        episode, return_=episode_return(rewards, episode.ending, agent.return_type, agent.discount)
    )


def _batch(scored: CycleScores, stored: Sequence[types.TrainingRow], average: Average) -> list[types.TrainingRow]:
    """The training rows that follow from the scores; a design's tokens are taken from its stored rows."""
    tokens = _segments(row for row in stored if row.role == "designer")
    designer = [dataclasses.replace(item, segments=tokens.get(item.source_id, ())) for item in scored.designer]
    rows: list[Scored] = [*scored.agent, *designer]
    return build_batch(rows, average)


def _segments(rows: Iterable[types.TrainingRow]) -> dict[str, tuple[Segment, ...]]:
    found: dict[str, tuple[Segment, ...]] = defaultdict(tuple)
    for row in rows:
        segment = Segment(row.tokens, row.loss_mask, row.logprobs, row.policy_version, row.temperature)
        found[row.source_id] += (segment,)
    return found
