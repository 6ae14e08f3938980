"""The public names: quick to import, complete, typed, and never hidden by a submodule."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.documents import ROOT

import spadework

QUICK = """
import sys, time
began = time.process_time()
import spadework
assert time.process_time() - began < {seconds}, time.process_time() - began
heavy = {{"asyncio", "pydantic", "numpy", "pyarrow", "httpx", "torch", "rich"}} & set(sys.modules)
assert not heavy, heavy
assert "train" in dir(spadework)
"""

SHADOWS = """
import importlib, pkgutil, types
import spadework

before = {name: getattr(spadework, name) for name in spadework.__all__}
names = [module.name for module in pkgutil.walk_packages(spadework.__path__, "spadework.", onerror=print)]
assert len(names) > 200, names
for name in names:
    if name.endswith("__main__") or ".evals.data." in name:
        continue
    try:
        importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("spadework"):
            raise
for name, value in before.items():
    assert getattr(spadework, name) is value, name
    assert not isinstance(value, types.ModuleType), name
"""

RIGHT = """
import spadework

def agent(messages: list[spadework.Message]) -> str:
    return messages[-1]["content"]

episodes: list[spadework.Episode] = spadework.play("games", agent, n=1)
returns: list[float] = [episode.return_ for episode in episodes]
run: spadework.StoredRun = spadework.train("scripted", "runs/x", spadework.NullObserver())
findings: tuple[spadework.Finding, ...] = spadework.check("games").findings
"""

WRONG = """
import spadework

episodes: list[str] = spadework.play("games", print, n="one")
spadework.open_run(3)
spadework.nothing
"""


def run_python(text: str) -> None:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def mypy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)


def test_importing_the_package_is_quick():
    run_python(QUICK.format(seconds=0.1))


def test_no_submodule_hides_a_public_name():
    run_python(SHADOWS)


def test_every_public_name_is_imported_for_type_checkers_and_found_by_the_interpreter():
    tree = ast.parse(Path(spadework.__file__).read_text("utf-8"))
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (node.module.removeprefix("spadework."), alias.name)
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {(home, name) for name, home in spadework._HOME_OF.items()}
    assert sorted([*spadework._HOME_OF, "__version__"]) == sorted(spadework.__all__)


def test_every_public_function_and_class_says_what_it_does():
    for name in spadework.__all__:
        value = getattr(spadework, name)
        if callable(value) and getattr(value, "__module__", "").startswith("spadework"):
            assert value.__doc__, name


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = spadework.trian


def test_strict_type_checkers_know_the_api(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    right = mypy(tmp_path / "right.py", ROOT / "examples" / "python")
    assert right.returncode == 0, right.stdout + right.stderr
    wrong = mypy(tmp_path / "wrong.py")
    for code in ("assignment", "arg-type", "attr-defined"):
        assert f"[{code}]" in wrong.stdout, wrong.stdout


def test_the_marker_of_typed_packages_ships():
    assert (Path(spadework.__file__).parent / "py.typed").exists()
