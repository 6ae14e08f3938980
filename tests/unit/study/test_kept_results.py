"""The results that docs/studies keeps: of the study files as they are shipped, and whole."""

import math
from pathlib import Path

import pytest

from spadework.intervals import UNBOUNDED
from spadework.study.folder import StudyFolder
from spadework.study.frozen import begun
from spadework.study.results import read_results
from spadework.study.spec import find_study, load_study

DOCS = Path(__file__).parents[3] / "docs" / "studies"
KEPT = sorted(path for path in DOCS.iterdir() if path.is_dir())


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


VERDICTS = {
    ("designer-reward", "updates"): ["undecided", "undecided", "undecided"],
    ("designer-reward", "time"): ["undecided", "undecided", "undecided"],
    ("hints", "updates"): ["not held", "undecided", "not held", "not held"],
    ("hints", "time"): ["undecided", "held", "not held", "not held"],
}
"""What docs/study.md says of them."""


@pytest.mark.parametrize(("name", "axis"), VERDICTS)
def test_kept_results_still_say_what_the_docs_say(name: str, axis: str) -> None:
    study = load_study(find_study(name))
    results = read_results(study, StudyFolder(DOCS / name))
    reading = results.updates if axis == "updates" else results.time
    assert [one.verdict for one in reading.decided] == VERDICTS[name, axis]
    for measure in study.measures:
        low, high = reading.ranges[measure]
        assert (low, high) != UNBOUNDED
        for arm in study.arms:
            seen = reading.interval(measure, arm)
            assert math.isnan(seen.mean) or low <= seen.low < seen.mean < seen.high <= high
