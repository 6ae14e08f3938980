"""Findings as a linter prints them, as JSON lines, as SARIF, and one entry of the catalogue at length."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spadework import __version__
from spadework.envs.check.findings import CODES, Finding
from spadework.envs.check.program import Checked
from spadework.errors import ConfigError
from spadework.text import printable

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


@dataclass(frozen=True, slots=True)
class Report:
    """What is printed of one program."""

    path: str
    checked: Checked
    fatal: tuple[Finding, ...]


def lines(report: Report, show_info: bool) -> list[str]:
    """``path:line: CODE message``, one a finding, as a terminal may show it."""
    shown = [one for one in report.checked.findings if show_info or one.severity != "info" or one in report.fatal]
    lines = [f"{report.path}{f':{one.line}' if one.line else ''}: {one} [{one.severity}]" for one in shown]
    return [printable(line).replace("\n", " ") for line in lines]


def record(report: Report) -> dict[str, Any]:
    """All that is known of one program, as plain data without NaN."""
    findings = [
        {**dataclasses.asdict(one), "severity": one.severity, "title": one.title, "fatal": one in report.fatal}
        for one in report.checked.findings
    ]
    statistics = report.checked.statistics
    return {
        "path": report.path,
        "domain": report.checked.domain,
        "findings": findings,
        "statistics": None if statistics is None else _plain(dataclasses.asdict(statistics)),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def sarif(reports: Sequence[Report]) -> str:
    """One SARIF 2.1.0 log, for code hosts and editors."""
    results = [
        {
            "ruleId": finding.code,
            "level": _LEVELS["error"] if finding in report.fatal else _LEVELS[finding.severity],
            "message": {"text": finding.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": report.path},
                        "region": {"startLine": finding.line or 1},
                    }
                }
            ],
        }
        for report in reports
        for finding in report.checked.findings
    ]
    rules = [
        {
            "id": code,
            "shortDescription": {"text": entry.title},
            "fullDescription": {"text": entry.why},
            "defaultConfiguration": {"level": _LEVELS[entry.severity]},
        }
        for code, entry in sorted(CODES.items())
    ]
    driver = {"name": "spadework check", "version": __version__, "rules": rules}
    log = {"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json"}
    return json.dumps({**log, "runs": [{"tool": {"driver": driver}, "results": results}]}, indent=1)


def explain(code: str) -> str:
    """An entry of the catalogue, or the titles of a family. Raises ``ConfigError`` for a code that there is not."""
    entry = CODES.get(code.upper())
    if entry is None:
        family = [each for each in sorted(CODES) if len(code) > 3 and each.startswith(code.upper())]
        if family:
            return "\n".join(f"{each} ({CODES[each].severity}): {CODES[each].title}" for each in family)
        raise ConfigError(f"there is no code {code}; there are {', '.join(sorted(CODES))}")
    parts = [f"{code.upper()} ({entry.severity}): {entry.title}", textwrap.fill(entry.why, 100)]
    parts += [f"Bad:\n{textwrap.indent(entry.bad, '    ')}"] if entry.bad else []
    parts += [f"Good:\n{textwrap.indent(entry.good, '    ')}"] if entry.good else []
    return "\n\n".join(parts)


def summary(reports: Iterable[tuple[Checked, bool]], seconds: float) -> str:
    """One line of counts at the end."""
    programs = failed = 0
    counts = dict.fromkeys(_LEVELS, 0)
    for checked, fatal in reports:
        programs += 1
        failed += fatal
        for finding in checked.findings:
            counts[finding.severity] += 1
    found = ", ".join(f"{number} {name}{'s' * (number != 1)}" for name, number in counts.items() if name != "info")
    rate = programs / seconds if seconds > 0 else 0.0
    return f"{programs} checked, {failed} rejected: {found} ({rate:.1f} environments/s)"


def statistics_table(reports: Iterable[Report]) -> Any:
    """A rich table of the figures, one row a program."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("program", "turns", "levels", "partial", "oracle", "random", "opening", "false rejects", "accepts"):
        table.add_column(name, justify="left" if name == "program" else "right")
    for report in reports:
        figures = report.checked.statistics
        if figures is not None:
            shares = [figures.win_rates.get(player, math.nan) for player in ("oracle", "random")]
            table.add_row(
                Text(printable(report.path.rsplit("/", 1)[-1])),
                _number(figures.oracle_turns, 1),
                str(len(figures.reward_levels)),
                "yes" if figures.partial_rewards else "no",
                *(_number(share, 2) for share in shares),
                _number(figures.opening_characters, 0),
                _number(figures.false_rejects, 2),
                _number(figures.false_accepts, 2),
            )
    return table


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
