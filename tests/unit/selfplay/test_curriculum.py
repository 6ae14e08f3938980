"""What enters play and what leaves it."""

from __future__ import annotations

import pytest

from spadework import build
from spadework.config.files import load_config
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.selfplay.curriculum import Curriculum
from spadework.selfplay.score.seeds import estimate
from spadework.types import Environment, Episode, Group


class Quiet:
    def stage(self, cycle: int, name: str, total: int) -> None: ...
    def advance(self, tokens: int) -> None: ...
    def note(self, text: str) -> None: ...
    def cycle_done(self, cycle: int, metrics: dict[str, float]) -> None: ...


def played(arm: str, won: int, of: int = 10) -> Group:
    episodes = [Episode(f"{arm}{i}", 0, "e", arm, i, i, (), (), "terminated", float(i < won)) for i in range(of)]
    return Group("e", arm, tuple(episodes))


@pytest.mark.parametrize(
    ("unhinted", "hinted", "left"),
    [(10, 10, "mastered"), (9, 10, None), (0, 0, "hopeless"), (0, 8, None), (3, 3, None)],
)
async def test_what_is_mastered_or_hopeless_leaves_play(unhinted: int, hinted: int, left: str | None) -> None:
    config = load_config("scripted", ["pool.retire=true"])
    async with ProcessSandbox() as sandbox:
        stages = build.build_stages(config, sandbox, build.build_corpus(config))
    stages.pool.fill(0, Environment("e", "class E: ...", "count", "s", "games", "d", 0, 0), "designed")
    stages.pool.take_events()
    groups = [played("unhinted", unhinted), played("hinted", hinted)]
    estimates = {"e": estimate({group.arm: group for group in groups})}
    _, metrics = Curriculum(config, stages, Quiet()).update(0, groups, estimates, ())
    assert [event.why for event in stages.pool.take_events()] == ([left] if left else [])
    assert [one.id for one in stages.pool.environments] == ([] if left else ["e"])
    assert (metrics["pool/mastered"], metrics["pool/hopeless"]) == (left == "mastered", left == "hopeless")
