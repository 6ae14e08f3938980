from __future__ import annotations

import pytest

from spadework.viewer.paging import MOST, Ask, number, page

ROWS = [
    {"id": "b", "regret": 0.5, "skill": "Logic"},
    {"id": "A", "regret": None, "skill": "Logic"},
    {"id": "c", "regret": -1.0, "skill": "Space"},
]


def ids(ask: Ask) -> list[str]:
    return [row["id"] for row in page(ROWS, ask, ("id", "skill"))["rows"]]


def test_what_is_missing_sorts_last_either_way() -> None:
    assert ids(Ask(sort="regret")) == ["c", "b", "A"]
    assert ids(Ask(sort="regret", desc=True)) == ["b", "c", "A"]


def test_text_sorts_and_is_found_without_its_case() -> None:
    assert ids(Ask(sort="id")) == ["A", "b", "c"]
    assert ids(Ask(search="LOGIC")) == ["b", "A"]


def test_a_page_is_a_cut_of_all_that_match() -> None:
    cut = page(ROWS, Ask(where={"skill": "Logic"}, offset=1, limit=1), ("id",))
    assert cut == {"rows": [ROWS[1]], "total": 2}


def test_an_unknown_column_sorts_nothing_and_matches_nothing() -> None:
    assert ids(Ask(sort="nothing")) == ["b", "A", "c"]
    assert ids(Ask(where={"nothing": "x"})) == []


@pytest.mark.parametrize("text", [None, "", "-1", "1e9", "٣", "9" * 30, "x"])
def test_what_is_no_count_is_the_default(text: str | None) -> None:
    assert number(text, 7) == 7


def test_a_query_asks_for_a_bounded_page() -> None:
    ask = Ask.of({"limit": "1000000", "offset": "20", "desc": "1", "skill": "Logic", "state": "", "run": "0"})
    assert (ask.limit, ask.offset, ask.desc, dict(ask.where)) == (MOST, 20, True, {"skill": "Logic"})
