"""A long job stops when piece after piece is lost to the machinery, and only then; causes are summed up."""

from __future__ import annotations

import pytest

from spadework.errors import RunError, blames_machinery, cause_lines, causes
from spadework.jobs.losses import Losses
from spadework.types import Fault

DEAD = Fault("endpoint", "CONNECTION", "http://a cannot be reached\nmore of it")
BROKEN = Fault("program", "ENV002", "no class")


def test_three_lost_pieces_in_a_row_stop_a_job() -> None:
    losses = Losses()
    for _ in range(2):
        losses.take(causes([DEAD, DEAD]), lost=True)
    with pytest.raises(RunError, match="3 in a row gave nothing: 6 x endpoint CONNECTION http://a cannot be reached"):
        losses.take(causes([DEAD, DEAD]), lost=True)


def test_a_piece_that_gave_something_starts_the_count_anew() -> None:
    losses = Losses()
    for _ in range(5):
        losses.take(causes([DEAD]), lost=True)
        losses.take(causes([DEAD]), lost=True)
        losses.take(causes([DEAD]), lost=False)


def test_a_program_and_a_conversation_that_is_too_long_blame_no_machinery() -> None:
    assert blames_machinery(DEAD)
    assert not blames_machinery(BROKEN) and not blames_machinery(Fault("endpoint", "TOO_LONG", ""))


def test_causes_are_codes_with_the_first_line_of_their_message() -> None:
    counts = causes([DEAD, BROKEN, DEAD])
    assert cause_lines(counts) == ["2 x endpoint CONNECTION http://a cannot be reached", "1 x program ENV002 no class"]
    many = causes([*[DEAD] * 5, *(Fault("grader", str(i), "") for i in range(9))])
    assert cause_lines(many, most=2)[0].startswith("5 x") and cause_lines(many, most=2)[2] == "8 x 8 further causes"
