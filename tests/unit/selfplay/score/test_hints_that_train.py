"""Hints that train (``hint.train``): paid regret, centred among themselves, and kept until they are due."""

from __future__ import annotations

import json

import pytest

from spadework.config import RunConfig
from spadework.config.files import override_config
from spadework.errors import ConfigError
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.scoring import Scoring
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import Design, Episode, Group, Segment, plain

PROGRAM = Segment((1, 2, 3), (False, True, True), (0.0, -1.0, -1.0), 0)
HINT = Segment((4, 5), (False, True), (0.0, -1.0), 0)


def design(name: str, **more: bool) -> Design:
    return Design(
        f"d-{name}",
        0,
        0,
        0,
        "s",
        "",
        (),
        "",
        "",
        "",
        (PROGRAM,),
        (),
        environment_id=name,
        hint_segments=(HINT,),
        **more,
    )


def group(name: str, arm: str, *returns: float) -> Group:
    episodes = [
        Episode(f"{name}/{arm}/{i}", 0, name, arm, i, i, (), (PROGRAM,), "terminated", value)  # type: ignore[arg-type]
        for i, value in enumerate(returns)
    ]
    return Group(name, arm, tuple(episodes))  # type: ignore[arg-type]


GROUPS = [
    group("helped", "unhinted", 0.0, 1.0, 0.0, 1.0),
    group("helped", "hinted", 1.0, 1.0, 1.0, 1.0),
    group("idle", "unhinted", 0.0, 1.0, 0.0, 1.0),
    group("idle", "hinted", 0.0, 1.0, 0.0, 1.0),
    group("harmed", "unhinted", 1.0, 1.0, 1.0, 1.0),
    group("harmed", "hinted", 0.0, 1.0, 1.0, 1.0),
]


def scoring(**sections: dict[str, object]) -> Scoring:
    given = {"designer": {"every": 1}, "reward": {"role_scaling": False, "type": "plateau"}, "hint": {"train": True}}
    config = RunConfig.model_validate({**given, "run": {"cycles": 1}, **sections})
    return Scoring(config, Ledger(1, 1), SkillAverages())


def paid(scored: Scoring, *designs: Design) -> dict[str, float]:
    return {row.source_id: row.advantage for row in scored.cycle(0, designs, GROUPS).designer}


def test_a_hint_is_paid_its_regret_whatever_the_designs_are_paid():
    found = paid(scoring(), design("helped"), design("idle"), design("harmed"))
    regrets = {"helped": 0.5, "idle": 0.0, "harmed": 0.0}
    mean = sum(regrets.values()) / 3
    assert {name: found[f"d-{name}/hint"] for name in regrets} == pytest.approx(
        {name: regret - mean for name, regret in regrets.items()}
    )
    # the plateau pays 1, 1 and 0 for win rates of 0.5, 0.5 and 1
    assert [found[f"d-{name}"] for name in regrets] == pytest.approx([1 / 3, 1 / 3, -2 / 3])


def test_hint_rows_hold_the_tokens_of_the_hint_and_belong_to_the_designer():
    rows = scoring().cycle(0, [design("helped"), design("idle")], GROUPS).designer
    hints = [row for row in rows if row.source_id.endswith("/hint")]
    assert {row.segments for row in hints} == {(HINT,)}
    assert {(row.role, row.group_id) for row in hints} == {("designer", "hint/0")}


def test_without_the_setting_no_hint_trains():
    assert set(paid(scoring(hint={}), design("helped"))) == {"d-helped"}


def test_hints_can_train_alone():
    assert set(paid(scoring(designer={"every": 1, "train": False}), design("helped"))) == {"d-helped/hint"}


def test_hints_leave_the_weight_between_the_roles_as_it_is():
    def weight(train: bool) -> float:
        scaled = {"role_scaling": True, "type": "plateau", "max_role_scale": 1e9}
        rows = scoring(reward=scaled, hint={"train": train}).cycle(0, [design("helped"), design("harmed")], GROUPS)
        return len(rows.designer) * rows.scores[0].advantage / rows.scores[0].reward

    assert weight(True) == pytest.approx(weight(False))


def test_a_mended_program_says_nothing_about_its_hint():
    assert "d-helped/hint" not in paid(scoring(), design("helped", repaired=True), design("idle"))


def test_a_checkpoint_keeps_the_tokens_of_hints_and_an_old_one_has_none():
    ledger, again, old = Ledger(4, 4), Ledger(4, 4), Ledger(4, 4)
    ledger.hold(design("helped"), None)
    state = json.loads(json.dumps({"held": [json.loads(json.dumps(plain(held))) for held in ledger._held]}))
    again.load_state_dict(state)
    assert again.due(4)[0].design == design("helped")
    del state["held"][0]["design"]["hint_segments"]
    old.load_state_dict(state)
    assert old.due(4)[0].design.hint_segments == ()


def test_what_another_model_wrote_never_trains():
    with pytest.raises(ConfigError, match=r"hint\.train=false"):
        override_config(RunConfig(), ["designer.model=frozen", "designer.train=false", "hint.train=true"])
