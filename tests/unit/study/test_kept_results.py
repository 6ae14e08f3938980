"""The results that docs/studies keeps: of the study files as they are shipped, and whole."""

from pathlib import Path

import pytest

from spadework.study.folder import StudyFolder
from spadework.study.frozen import begun
from spadework.study.results import read_results
from spadework.study.spec import find_study, load_study

KEPT = sorted(path for path in (Path(__file__).parents[3] / "docs" / "studies").iterdir() if path.is_dir())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_kept_results_are_those_of_the_shipped_study(path: Path) -> None:
    file, folder = find_study(path.name), StudyFolder(path)
    study = load_study(file)
    begun(file, folder, quick=False)
    results = read_results(study, folder)
    assert results.finished == len(results.runs) == len(list(path.glob("runs/*/series.json"))) > 0
    for run in results.runs.values():
        assert run.updates == study.cycles
        assert [line["updates"] for line in run.evaluations] == study.evaluations()
        assert set(run.series) <= {measure.series for measure in study.measures.values()}
