"""A long job stops when piece after piece is lost to the machinery, and only then; causes are summed up."""

from __future__ import annotations

import pytest

from spadework.errors import RunError, cause_lines, causes
from spadework.jobs.losses import Losses
from spadework.types import Fault

DEAD = Fault("endpoint", "CONNECTION", "http://a cannot be reached\nmore of it")
BROKEN = Fault("program", "ENV002", "no class")
LONG = Fault("endpoint", "TOO_LONG", "too long")


def test_three_lost_pieces_in_a_row_stop_a_job() -> None:
    losses = Losses()
    for _ in range(2):
        losses.take([DEAD, DEAD], gave=False)
    with pytest.raises(RunError, match="3 in a row gave nothing: 6 x endpoint CONNECTION http://a cannot be reached"):
        losses.take([DEAD, DEAD], gave=False)


@pytest.mark.parametrize(
    ("faults", "gave"), [((), True), ((DEAD,), True), ((BROKEN,), False), ((LONG,), False), ((DEAD, BROKEN), False)]
)
def test_anything_else_between_them_starts_the_count_anew(faults: tuple[Fault, ...], gave: bool) -> None:
    losses = Losses()
    for _ in range(5):
        losses.take([DEAD], gave=False)
        losses.take([DEAD], gave=False)
        losses.take(faults, gave=gave)


def test_causes_are_codes_with_the_first_line_of_their_message() -> None:
    counts = causes([DEAD, BROKEN, DEAD])
    assert cause_lines(counts) == ["2 x endpoint CONNECTION http://a cannot be reached", "1 x program ENV002 no class"]
    many = causes([*[DEAD] * 5, *(Fault("grader", str(i), "") for i in range(9))])
    assert cause_lines(many, most=2)[0].startswith("5 x") and cause_lines(many, most=2)[2] == "8 x 8 further causes"
