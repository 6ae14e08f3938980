"""A pytest plugin for repositories that keep environments: each program is a test that checks it.

    from spadework.integrations.pytest_plugin import assert_environment

    def test_halving():
        assert_environment("environments/halving.py")

``pytest --spadework=environments`` collects every program of a folder as a test without any such function.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from spadework.envs.check.program import Checked


def assert_environment(
    path: str | Path, *, seeds: int = 5, fatal: Iterable[str] = (), ignore: Iterable[str] = (), static: bool = False
) -> Checked:
    """Fail the test with the findings that reject the environment at ``path``.

    Args:
        path: a program.
        seeds: how many seeds it is played with.
        fatal: codes or families (``"ENV6"``) that reject beside the errors.
        ignore: codes or families that never reject.
        static: read the program only, and run nothing.

    Returns:
        All findings and the statistics of the plays.
    """
    from spadework.api.playing import check
    from spadework.envs.check import findings

    ignored = tuple(ignore)
    checked = check(Path(path), seeds=seeds, static=static)
    kept = [finding for finding in checked.findings if not finding.code.startswith(ignored)]
    rejecting = findings.fatal(kept, frozenset(fatal))
    if rejecting:
        told = "\n".join(f"{path}{f':{one.line}' if one.line else ''}: {one}" for one in rejecting)
        pytest.fail(f"{told}\n`spadework check --explain CODE` says what a code means.", pytrace=False)
    return checked


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a folder of environments."""
    parser.getgroup("spadework").addoption(
        "--spadework",
        action="append",
        default=[],
        metavar="FOLDER",
        help="check every environment program (*.py) below this folder, each as a test",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EnvironmentFile | None:
    """Collect the programs below the folders that ``--spadework`` names."""
    folders = [Path(folder).resolve() for folder in parent.config.getoption("--spadework")]
    if file_path.suffix == ".py" and any(folder in file_path.parents for folder in folders):
        collected: EnvironmentFile = EnvironmentFile.from_parent(parent, path=file_path)
        return collected
    return None


class EnvironmentFile(pytest.File):
    """One program."""

    def collect(self) -> Iterable[pytest.Item]:
        """Its only test."""
        yield EnvironmentItem.from_parent(self, name="check")


class EnvironmentItem(pytest.Item):
    """The check of one program."""

    def runtest(self) -> None:
        """Fail with the findings that reject the program."""
        assert_environment(self.path)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """What the report calls the test."""
        return self.path, None, f"environment {self.path.name}"
