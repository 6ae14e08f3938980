"""Prompts of both domains, and what a tool-use design is drawn to be about."""

from __future__ import annotations

from collections import Counter

import pytest

from spadework.config import DesignerSection, HintSection, PlaySection, RunConfig
from spadework.config.files import default_config, override_config, parse_config
from spadework.domains.games import GAMES
from spadework.domains.tool_tasks import SERVICES, VARIANTS, draw_task
from spadework.domains.tool_use import SKILLS, TOOL_USE
from spadework.errors import ConfigError
from spadework.selfplay.design.prompts import Brief, agent_opening, design_messages, hint_messages, skeleton_head
from spadework.selfplay.records import Example
from spadework.types import Document

DOCUMENT = Document("d", "A shop sells $3 tea.", {"title": "Tea shops"})


def test_variants_are_drawn_three_to_two_to_one_to_one_and_domains_alike():
    tasks = [draw_task(seed) for seed in range(7000)]
    assert tasks == [draw_task(seed) for seed in range(7000)]
    variants = Counter(task.variant for task in tasks)
    assert [round(variants[name] / 1000) for name in VARIANTS] == [3, 2, 1, 1]
    assert set(Counter(task.places["domain"] for task in tasks)) == set(SERVICES)
    assert len(SERVICES) == 10


@pytest.mark.parametrize("form", ["multi_turn", "single"])
def test_the_tool_use_designer_is_told_its_task_and_form(form):
    task = draw_task(1)
    brief = Brief("Tool Selection", DOCUMENT, task)
    examples = [Example("e", "class AEnv(ToolUseBaseEnv): ...", "good")]
    (system, user), prefill = design_messages(DesignerSection(form=form), TOOL_USE, brief, examples)
    text = user["content"]
    for words in ("Tool Selection", DOCUMENT.text, *task.places.values(), "class AEnv", "_plan"):
        assert words in text
    assert ("_user_messages" in text, "_expected_answer" in text) == (form == "multi_turn", form == "single")
    assert "game" not in text + system["content"]
    assert prefill == ""


def test_a_small_tool_use_designer_is_given_the_head():
    brief = Brief("Tool Selection", DOCUMENT, draw_task(1))
    messages, head = design_messages(DesignerSection(skeleton=True), TOOL_USE, brief, ())
    assert brief.task is not None and f"Variant: {brief.task.variant}" in messages[-1]["content"]
    assert head.endswith("\n\nclass TeaShopsEnv(ToolUseBaseEnv):\n")
    assert "def tool(" in head
    assert skeleton_head("Tea shops", GAMES) == "```python\nimport random\n\n\nclass TeaShopsEnv:\n"


def test_the_other_tool_use_prompts():
    assert "<tool_call>" in agent_opening(PlaySection(), TOOL_USE)[0]["content"]
    (asked,) = hint_messages(HintSection(), TOOL_USE, "SOURCE")
    assert "SOURCE" in asked["content"] and "by phases" in asked["content"]
    assert "without any value" in hint_messages(HintSection(), TOOL_USE, "x", [asked])[-1]["content"]


def test_a_domain_supplies_its_skills_unless_told_otherwise():
    config = override_config(RunConfig(domain="tool_use", designer=DesignerSection(every=8)), ())
    assert (config.designer.skills, config.designer.active_skills, config.designer.every) == (SKILLS, 6, 8)
    assert override_config(config, ()) == config
    config = parse_config({"domain": "tool_use", "designer": {"skills": ["a", "b"]}}, "here")
    assert (config.designer.skills, config.designer.active_skills) == (("a", "b"), 2)
    assert default_config().designer.active_skills == 3
    for wrong in ({"designer": {"skills": 3}}, {"designer": 3}):
        with pytest.raises(ConfigError, match="designer"):
            parse_config({"domain": "tool_use", **wrong}, "here")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"domain": "tooluse"}, ["c.toml: domain", "'tool_use'"]),
        ({"validation": {"model_check": True}}, ["c.toml: validation.model_check", "'games'", "false"]),
        (
            {"domain": "tool_use", "designer": {"grammar": True, "skeleton": True}},
            ["c.toml: designer.grammar", "'tool_use'", "false"],
        ),
        ({"designer": {"active_skills": 7}}, ["c.toml: designer.active_skills: it is 7", "6 skills"]),
    ],
)
def test_what_a_domain_has_nothing_for_is_refused_with_file_key_and_fix(data, said):
    with pytest.raises(ConfigError) as caught:
        parse_config(data, "c.toml")
    assert all(words in str(caught.value) for words in said), caught.value
