"""The domain that docs/own-domain.md shows is one."""

from __future__ import annotations

import re
from pathlib import Path

from spadework.config import PlaySection
from spadework.envs.registry import find_domain
from spadework.resources import shipped
from spadework.selfplay.design.prompts import agent_opening

PAGE = Path(__file__).parents[3] / "docs" / "own-domain.md"


def test_the_smallest_domain_works(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "smallest.py").write_text(code)
    (tmp_path / "prompts").symlink_to(shipped("examples") / "plugin_domain_prompts")
    domain = find_domain(f"{tmp_path / 'smallest.py'}:ADVENTURE")
    dialogue = domain.dialogue
    assert dialogue.action("I look. [wait] No, [go north]") == "[go north]" == dialogue.encode("go north")
    assert (dialogue.decode("[go north]"), dialogue.action("hm")) == ("go north", "")
    assert "square brackets" in agent_opening(PlaySection(), domain)[0]["content"]


def test_the_page_names_every_prompt_that_a_briefing_looks_for() -> None:
    page = PAGE.read_text()
    folders = [find_domain(name).briefing.prompts for name in ("games", "tool_use")]
    missing = {file.name for folder in folders for file in folder.iterdir() if file.name not in page}
    assert missing == set()
