"""Merging a library's mappings leaves fewer of them, none writable and executable, and an interpreter that works."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spadework.envs.sandbox.forkserver.launch import FOLDER

SCRIPT = """
import decimal, json, random, sys
sys.path.insert(0, {folder!r})
from inside import mappings

def rights():
    rows = [line.split() for line in open("/proc/self/maps")]
    return [row[1] for row in rows if len(row) > 5 and ".so" in row[5]]

before = rights()
mappings.merge()
import sqlite3
worked = [str(decimal.Decimal(1) / 3)[:5], sqlite3.connect(":memory:").execute("select 2").fetchone()[0]]
print(json.dumps([before, rights(), worked]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mappings are read from Linux's /proc")
def test_fewer_mappings_and_nothing_writable_and_executable() -> None:
    script = SCRIPT.format(folder=str(FOLDER))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    before, after, worked = json.loads(done.stdout)
    assert worked == ["0.333", 2]
    assert len(after) < 0.7 * len(before), "sqlite3, loaded later, included"
    assert not [rights for rights in after if "w" in rights and "x" in rights]
