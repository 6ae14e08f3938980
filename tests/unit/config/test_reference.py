"""The page of all settings is that of the settings as they are, and says what each means."""

from __future__ import annotations

from pathlib import Path

from spadework.config.descriptions import descriptions
from spadework.config.reference import settings_page

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == settings_page(), "python -m spadework.config.reference docs/settings.md"


def test_every_setting_stands_on_the_page() -> None:
    page = settings_page()
    for name in descriptions():
        assert f"| `{name.rpartition('.')[2]}` |" in page or f"[{name}" in page, name


def test_types_bounds_and_defaults_are_readable() -> None:
    page = settings_page()
    assert "| `cycles` | `int`, ≥ 1 | `400` |" in page
    assert "| `deadline_seconds` | `float \\| None`, > 0 | unset |" in page
    assert "spadework.config" not in page


def test_every_setting_says_what_it_means() -> None:
    rows = [line for line in settings_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert [row for row in rows if row.split("|")[-2].strip() == ""] == []
