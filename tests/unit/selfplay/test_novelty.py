"""What counts as a copy."""

from spadework.selfplay.novelty import SeenPrograms, fingerprint


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
