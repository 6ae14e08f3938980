from __future__ import annotations

import re
from pathlib import Path

import pytest

from spadework.envs.check.findings import CODES, Finding, fatal
from spadework.envs.check.program import check_program
from spadework.envs.check.runtime import RuntimeChecks


def test_a_finding_prints_its_code_and_knows_its_severity():
    finding = Finding("ENV101", "os is imported", 3)
    assert str(finding) == "ENV101 os is imported"
    assert finding.severity == "error"
    assert finding.title == "a forbidden import"


def test_an_unknown_code_is_refused():
    with pytest.raises(ValueError, match="ENV999"):
        Finding("ENV999", "")


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_entry_of_the_catalogue_is_complete(code):
    entry = CODES[code]
    assert re.fullmatch(r"ENV[0-7]\d\d", code)
    assert entry.title and entry.why.endswith(".")
    assert bool(entry.bad) == bool(entry.good)


def test_errors_are_fatal_and_codes_or_families_can_be_raised_or_waived():
    error, warning, info = Finding("ENV602", ""), Finding("ENV104", ""), Finding("ENV601", "")
    every = (error, warning, info)
    assert fatal(every) == (error,)
    assert fatal(every, also=["ENV104"]) == (error, warning)
    assert fatal(every, never=["ENV6"]) == ()
    assert fatal(every, also=["ENV601"], never=["ENV6"]) == (info,)


def test_the_page_on_environments_lists_every_code_with_its_severity():
    page = (Path(__file__).parents[4] / "docs" / "environments.md").read_text()
    ours = [(code, entry) for code, entry in sorted(CODES.items()) if code.startswith("ENV")]  # domains add theirs
    rows = [f"| {code} | {entry.severity} | {entry.title} |" for code, entry in ours]
    assert re.findall(r"^\| ENV\d+ .*$", page, flags=re.MULTILINE) == rows


@pytest.mark.parametrize("index", [0, 1])
async def test_the_programs_on_that_page_are_clean(sandbox, index):
    page = (Path(__file__).parents[4] / "docs" / "environments.md").read_text()
    source = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[index]
    checked = await check_program(sandbox, source, RuntimeChecks())
    assert [str(finding) for finding in checked.findings if finding.severity != "info"] == []
