"""Study files: what is refused, and how it is said; measures by hand."""

import json
import math

import pytest

from spadework.errors import ConfigError
from spadework.jobs.heldout import heldout_environments
from spadework.resources import shipped
from spadework.study.folder import StudyFolder
from spadework.study.frozen import freeze
from spadework.study.series import RunSeries, measure_range
from spadework.study.spec import HeldOutSettings, Measure, load_study, resolve

GOOD = """
title = "t"
config = "scripted"
seeds = [1, 2]
cycles = 4
set = ["play.episodes=3"]
[arms.a]
[arms.b]
set = ["reward.type=regret"]
[measures.m]
label = "m"
series = "heldout/win_rate"
[[hypotheses]]
claim = "c"
measure = "m"
arm = "a"
than = ["b"]
[quick]
seeds = [1]
cycles = 2
set = ["play.episodes=2"]
"""


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_configs_are_resolved(tmp_path):
    path = written(tmp_path, GOOD)
    study = load_study(path)
    config = resolve(study, path, "b", 2)
    assert (config.run.seed, config.run.cycles, config.reward.type, config.play.episodes) == (2, 4, "regret", 3)
    assert config.model.threads == 1
    assert resolve(study.quickly(), path, "a", 1).play.episodes == 2
    assert (study.quickly().seeds, study.quickly().cycles) == ((1,), 2)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("seeds = [1, 2]", "seed = [1, 2]", "seeds"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "twice"),
        ("seeds = [1, 2]", "seeds = [1, 2]\ntuned_on = [2, 3]", "tuned on [2]"),
        ('["play.episodes=3"]', '["run.seed=3"]', "run.seed"),
        ('than = ["b"]', 'than = ["c"]', "no arm is named 'c'"),
        ('measure = "m"', 'measure = "n"', "no measure is named 'n'"),
        ('than = ["b"]', 'by = "ratio"', "a ratio needs"),
        ("[arms.a]", '[arms.a]\npool = "start"', "no pool is named 'start'"),
        ("[arms.a]", '[pools.p]\nn = 2\n[heldout]\npool = "p"\n[arms.a]', "give it a seed"),
        ('claim = "c"', 'claims = "c"', "hypotheses.0.claims: no such key; the nearest valid one is claim"),
        ("[arms.a]", '[heldout]\npool = "hand-set"\n[arms.a]', "heldout.lengths"),
        ('label = "m"', 'label = "m"\nrange = [1.0, 0.0]', "the lowest possible value comes first"),
        ("title =", "title", "TOML"),
    ],
)
def test_mistakes_are_named(tmp_path, was, now, said):
    assert was in GOOD
    with pytest.raises(ConfigError) as caught:
        load_study(written(tmp_path, GOOD.replace(was, now)))
    assert said in str(caught.value)
    assert "study.toml" in str(caught.value)


def test_a_bad_override_names_its_arm(tmp_path):
    path = written(tmp_path, GOOD.replace("reward.type=regret", "reward.typ=regret"))
    with pytest.raises(ConfigError, match=r"arm b: .*reward\.type"):
        resolve(load_study(path), path, "b", 1)


def test_evaluations_fall_on_checkpoints(tmp_path):
    text = GOOD.replace("[arms.a]", '[heldout]\npool = "examples"\nevery = 3\n[arms.a]')
    path = written(tmp_path, text.replace("cycles = 4", "cycles = 7"))
    study = load_study(path)
    assert study.evaluations() == [0, 3, 6, 7]
    assert study.quickly().evaluations() == [0, 2]
    coarse = study.model_copy(update={"set": ("run.checkpoint_every=2",)})
    with pytest.raises(ConfigError, match=r"heldout\.every"):
        resolve(coarse, path, "a", 1)


def test_a_study_goes_on_although_a_setting_was_removed(tmp_path):
    file, folder = written(tmp_path, GOOD), StudyFolder(tmp_path / "out")
    study = load_study(file)
    frozen = freeze(study, file, folder, quick=False)
    kept = json.loads(folder.frozen.read_text())
    for config in kept["configs"].values():
        config["designer"]["max_structure_share"] = 0.25
    folder.frozen.write_text(json.dumps(kept))
    assert freeze(study, file, folder, quick=False) == frozen
    kept["configs"]["b"]["play"]["episodes"] = 4
    folder.frozen.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match=r"b\.play\.episodes: 4 -> 3"):
        freeze(study, file, folder, quick=False)


def test_measures_by_hand():
    run = RunSeries("a", 1, {"s": [(1, 0.2), (2, 0.4), (4, 0.9)]}, clock=[0.0, 10.0, 25.0, 27.0, 40.0], done=True)
    assert run.value(Measure(label="m", series="s"), 4) == 0.9
    assert run.value(Measure(label="m", series="s", last=2), 4) == pytest.approx(0.65)
    assert run.value(Measure(label="m", series="s", last=2), 3) == pytest.approx(0.3)
    assert run.value(Measure(label="m", series="s", last=2, since_start=True), 4) == pytest.approx(0.35)
    assert run.first(Measure(label="m", series="s", last=2)) == pytest.approx(0.3)
    assert math.isnan(run.value(Measure(label="m", series="s"), 0))
    assert math.isnan(run.value(Measure(label="m", series="other"), 4))
    assert [run.within(seconds) for seconds in (5.0, 10.0, 26.0, 99.0)] == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("measure", "values", "bounds"),
    [
        (Measure(label="m", series="heldout/win_rate"), [0.2], (0.0, 1.0)),
        (Measure(label="m", series="designer/broken_share"), [], (0.0, 1.0)),
        (Measure(label="m", series="designer/broken_share", since_start=True), [-0.1], (-1.0, 1.0)),
        (Measure(label="m", series="agent/unhinted_return"), [-0.5], (-1.0, 1.0)),
        (Measure(label="m", series="agent/unhinted_return"), [3.5, math.nan], (-math.inf, math.inf)),
        (Measure(label="m", series="designer/regret_low"), [0.1], (-2.0, 2.0)),
        (Measure(label="m", series="designer/regret_width"), [0.1], (0.0, 4.0)),
        (Measure(label="m", series="tokens/sampled"), [7.0], (0.0, math.inf)),
        (Measure(label="m", series="train/kl_to_start"), [7.0], (-math.inf, math.inf)),
        (Measure(label="m", series="train/kl_to_start", range=(0.0, 9.0)), [7.0], (0.0, 9.0)),
    ],
)
def test_ranges_of_measures(measure, values, bounds):
    assert measure_range(measure, values) == bounds


@pytest.mark.parametrize("path", sorted(shipped("studies").glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_studies_resolve(path):
    study = load_study(path)
    assert study.quick is not None
    for each in (study, study.quickly()):
        configs = [resolve(each, path, arm, each.seeds[0], own.pool) for arm, own in each.arms.items()]
        assert len({config.model_dump_json() for config in configs}) == len(each.arms)


def test_a_held_out_pool_of_another_domain_is_named(tmp_path):
    file = written(tmp_path, GOOD)
    study = load_study(file)
    config = resolve(study, file, None, 11)
    config = config.model_copy(update={"domain": "tool_use"})
    held = HeldOutSettings(pool="hand-set", lengths=(3,))
    with pytest.raises(ConfigError, match="hand-set holds no environment of the domain 'tool_use'"):
        heldout_environments(study.model_copy(update={"heldout": held}), file, StudyFolder(tmp_path), config)
