"""Environments as tests of somebody's own repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from spadework.integrations.pytest_plugin import assert_environment
from spadework.resources import shipped

TEMPLATES = shipped("examples") / "templates"
PLUGIN = ("-p", "spadework.integrations.pytest_plugin", "-p", "no:cacheprovider")


def test_a_sound_program_passes_and_returns_its_figures() -> None:
    checked = assert_environment(TEMPLATES / "game.py", seeds=2)
    assert checked.domain == "games"
    assert checked.statistics is not None


def test_a_broken_program_fails_with_its_findings(tmp_path: Path) -> None:
    program = tmp_path / "broken.py"
    program.write_text("class BrokenEnv:\n    def reset(self, seed=None):\n        return 'x', {}\n")
    with pytest.raises(pytest.fail.Exception, match=r"broken.py.*ENV009"):
        assert_environment(program, static=True)
    assert_environment(program, static=True, ignore=["ENV0", "ENV1"])


def test_a_folder_is_collected(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("environments")
    (folder / "sound.py").write_text((TEMPLATES / "game.py").read_text())
    (folder / "broken.py").write_text("import os\n\nclass BrokenEnv:\n    pass\n")
    pytester.makepyfile(helper="raise RuntimeError('nobody collects this')")
    result = pytester.runpytest_inprocess(*PLUGIN, "--spadework=environments")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*broken.py*ENV*"])
