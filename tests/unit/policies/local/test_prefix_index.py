from __future__ import annotations

import random

from spadework.policies.local.sampling.prefix_index import PrefixIndex


def agreement(one: list[int], other: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_common_prefixes_are_those_of_plain_lists() -> None:
    rng = random.Random(0)
    index = PrefixIndex(6, 400)
    plain: list[list[int]] = [[] for _ in range(6)]
    for _ in range(300):
        row, other = rng.randrange(6), rng.randrange(6)
        kind = rng.random()
        if kind < 0.5:
            more = [rng.randrange(2) for _ in range(rng.choice((1, 1, 70)))][: 400 - len(plain[row])]
            index.extend(row, more)
            plain[row] = plain[row] + more
        elif kind < 0.9:
            length = rng.randint(0, len(plain[other]))
            index.copy(other, row, length)
            plain[row] = plain[other][:length]
        else:
            index.forget(row)
            plain[row] = []
        wanted = plain[other] + [1] if rng.random() < 0.5 else [rng.randrange(2) for _ in range(3)]
        expected = [agreement(wanted, tokens) for tokens in plain]
        assert index.shared_lengths(wanted).tolist() == expected
        assert [index.length(place) for place in range(6)] == [len(tokens) for tokens in plain]


def test_nothing_agrees_with_nothing() -> None:
    assert PrefixIndex(2, 8).shared_lengths([]).tolist() == [0, 0]
