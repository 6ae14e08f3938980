"""Every notebook runs from top to bottom in an empty folder and ends in a figure of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples" / "notebooks").glob("*.ipynb"))
END = """
import matplotlib.pyplot as plt
assert plt.get_fignums(), "the notebook drew no figure"
assert all(axes.has_data() for number in plt.get_fignums() for axes in plt.figure(number).axes), "an empty figure"
"""


def cells(notebook: Path) -> list[str]:
    """The code of a notebook, cell by cell."""
    data = json.loads(notebook.read_text("utf-8"))
    return ["".join(cell["source"]) for cell in data["cells"] if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    code = "\n\n".join([*cells(notebook), END])
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_figure_and_without_errors(notebook: Path) -> None:
    data = json.loads(notebook.read_text("utf-8"))
    outputs = [output for cell in data["cells"] for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output["output_type"] == "error" for output in outputs)
