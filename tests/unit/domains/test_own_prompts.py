"""Prompts of one's own: files beside the config, checked when it is read, and stored in the run as texts."""

from __future__ import annotations

import pytest

from spadework import cli
from spadework.config.differences import config_changes
from spadework.config.files import dump_config, load_config, parse_config, parse_stored_config
from spadework.domains.prompt_settings import configured_domain
from spadework.errors import ConfigError
from spadework.selfplay.design.prompts import Brief, agent_opening, design_messages, hint_messages, model_check_messages
from spadework.types import Document

DOCUMENT = Document("d", "All about tea.", {"title": "Tea"})


def write(folder, prompts, domain="games", more=""):
    """A config whose prompts, by setting, are files of their own in a folder below."""
    (folder / "prompts").mkdir(exist_ok=True)
    lines = [f'domain = "{domain}"', more]
    for key, text in prompts.items():
        (folder / "prompts" / f"{key}.md").write_text(text)
        lines.append(f'{key} = "prompts/{key}.md"')
    path = folder / "run.toml"
    path.write_text("\n".join(lines))
    return str(path)


def test_every_prompt_can_be_a_file_of_ones_own(tmp_path):
    config = load_config(
        write(
            tmp_path,
            {
                "designer.prompt": "Design for $skill from $document. $examples $levels $form $brief",
                "designer.system_prompt": "You cost $5.",
                "designer.form_prompt": "One task.",
                "designer.levels_prompt": "Levels, please.",
                "hint.prompt": "A hint of $max_words words for $source",
                "validation.model_check_prompt": "Judge $source",
                "play.system": "Play well.",
            },
            domain="tool_use",
            more="designer.difficulty = true",
        )
    )
    domain = configured_domain(config)
    brief = Brief("Wit", DOCUMENT, domain.briefing.draw_task(1))
    messages, _ = design_messages(config.designer, domain, brief, ())
    assert messages[0]["content"] == "You cost $5."
    assert messages[1]["content"].startswith("Design for Wit from All about tea.")
    assert "Levels, please. One task." in " ".join(messages[1]["content"].split())
    assert hint_messages(config.hint, domain, "code")[0]["content"] == "A hint of 100 words for code"
    assert model_check_messages(domain, "code")[0]["content"] == "Judge code"
    assert agent_opening(config.play, domain)[0]["content"] == "Play well."


def test_a_skeleton_designer_has_prompts_of_its_own(tmp_path):
    prompts = {"designer.prompt": "Of $document:", "designer.head_prompt": "class $name:", "hint.prompt": "Now $1 hint"}
    config = load_config(write(tmp_path, prompts, more="designer.skeleton = true"))
    domain = configured_domain(config)
    messages, head = design_messages(config.designer, domain, Brief("Wit", DOCUMENT), ())
    assert (messages[-1]["content"], head) == ("Of All about tea.:", "class TeaEnv:\n")
    history = hint_messages(config.hint, domain, "code", messages)
    assert history[-1]["content"] == "Now $1 hint"


@pytest.mark.parametrize(
    "key, text, said",
    [
        ("designer.prompt", "$skill $document $examples $wit", "nothing fills $wit; the variables are $skill, "),
        ("designer.prompt", "$skill $document", "it does not use $examples"),
        ("hint.prompt", "For $5: $source", "write $$ for a dollar sign"),
        ("hint.prompt", "A hint!", "it does not use $source"),
        ("play.system", "", "is empty"),
        ("designer.head_prompt", "class $name:", "set designer.skeleton = true"),
    ],
)
def test_what_is_wrong_with_a_prompt_is_told_with_its_file_and_its_setting(tmp_path, key, text, said):
    with pytest.raises(ConfigError) as error:
        load_config(write(tmp_path, {key: text}))
    line = str(error.value)
    assert said in line and key in line and f"{key}.md" in line and "\n" not in line


def test_a_missing_file_is_told_by_file_override_and_table(tmp_path, monkeypatch):
    path = write(tmp_path, {})
    with pytest.raises(
        ConfigError, match=r"--set hint\.prompt=gone\.md: hint\.prompt: the prompt file gone\.md cannot"
    ):
        load_config(path, ["hint.prompt=gone.md"])
    with pytest.raises(ConfigError, match=r"^here: hint\.prompt: the prompt file gone\.md cannot be read"):
        parse_config({"hint": {"prompt": "gone.md"}}, "here")


def test_files_are_found_beside_the_config_that_names_them_and_overrides_from_here(tmp_path, monkeypatch):
    write(tmp_path, {"hint.prompt": "Theirs for $source"})
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "mine.toml").write_text('extends = "../run.toml"')
    (tmp_path / "below" / "mine.md").write_text("Mine for $source")
    name = str(tmp_path / "below" / "mine.toml")
    assert load_config(name).hint.prompt == "Theirs for $source"
    monkeypatch.chdir(tmp_path / "below")
    assert load_config(name, ["hint.prompt=mine.md"]).hint.prompt == "Mine for $source"
    assert load_config(name, ["hint.prompt=For $source"]).hint.prompt == "For $source"


def test_a_run_keeps_the_text_and_a_changed_one_is_a_change_of_the_method(tmp_path):
    path = write(tmp_path, {"hint.prompt": "One for $source"})
    stored = dump_config(load_config(path))
    write(tmp_path, {"hint.prompt": "Two for $source"})
    before, now = parse_stored_config(stored, "run"), load_config(path)
    assert before.hint.prompt == "One for $source"
    changes = config_changes(before, now)
    assert [(change.key, change.free) for change in changes] == [("hint.prompt", False)]


def test_prompts_are_listed_and_shown_with_their_variables(tmp_path, capsys):
    path = write(tmp_path, {"hint.prompt": "Mine for $source"})
    assert cli.main(["prompts", "list", path]) == 0
    listed = capsys.readouterr().out
    assert "hint.prompt: the config's own; must use $source; may use $max_words" in listed
    assert "designer.prompt: the domain's; must use $skill, $document, $examples; may use $levels" in listed
    assert cli.main(["prompts", "show", path, "hint.prompt"]) == 0
    assert capsys.readouterr().out == "Mine for $source\n"
    assert cli.main(["prompts", "show", "hint.prompt"]) == 0
    assert "$source" in capsys.readouterr().out
    assert cli.main(["prompts", "show", path, "hint.promt"]) == 2
    assert "it has designer.system_prompt" in capsys.readouterr().err
