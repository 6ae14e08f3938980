"""What counts as a copy."""

import pytest

from spadework.policies.embedding import HashedWords
from spadework.selfplay.design.novelty import Neighbours, SeenPrograms, fingerprint


def test_names_texts_and_layout_do_not_make_a_program_new(game):
    copy = (
        game.replace("DivisionWithRemainderEnv", "SharingSweetsEnv")
        .replace("What is", "Tell me")
        .replace("rng", "dice")
    )
    assert fingerprint(copy + "\n# a comment\n") == fingerprint(game)
    assert copy in SeenPrograms([game])


def test_numbers_and_operations_do(game):
    assert fingerprint(game.replace("99", "98")) != fingerprint(game)
    assert fingerprint(game.replace("a % b", "a // b")) != fingerprint(game)


def test_a_program_that_does_not_parse_has_a_fingerprint():
    assert fingerprint("def (") != fingerprint("def )")


def test_nearness_is_to_the_nearest_and_survives_a_restart(game):
    embed = HashedWords().embed
    near = Neighbours(embed, [game], size=2)
    other = "class OtherEnv:\n    def walk(self, maze):\n        return maze.exit\n"
    reworded = game.replace("remainder", "rest").replace("answer", "result")
    assert near.nearest(game) == pytest.approx(1)
    assert near.nearest(other) < 0.4 < near.nearest(reworded) < 1
    for source in (other, reworded, other + "x = 1\n"):
        near.add(source)
    assert near.state_dict() == [reworded, other + "x = 1\n"]
    again = Neighbours(embed, [game], size=2)
    again.load_state_dict(near.state_dict())
    assert again.nearest(other) == near.nearest(other) < 1
    assert Neighbours(embed).nearest(game) == 0


def test_a_near_copy_is_refused_only_where_that_is_asked_for(game):
    reworded = game.replace("remainder", "rest").replace("answer", "result") + "\nLIMIT = 31\n"
    near = Neighbours(HashedWords().embed, [game])
    assert SeenPrograms([game]).likeness(reworded) is None
    assert SeenPrograms([game]).novelty(reworded) is None
    assert SeenPrograms([game], near).likeness(reworded) is None
    seen = SeenPrograms([game], near, max_cosine=0.5)
    assert "cosine" in str(seen.likeness(reworded)) and reworded in seen
    assert "same structure" in str(seen.likeness(game))
    assert seen.novelty(reworded) == pytest.approx(1 - near.nearest(reworded))
    strict = SeenPrograms([game], Neighbours(HashedWords().embed, [game]), max_cosine=0.5)
    stranger = "x = {'maze': walk}"
    seen.add(stranger)
    strict.load_state_dict(seen.state_dict())
    assert stranger in strict and strict.novelty(stranger) == pytest.approx(0, abs=1e-6)
