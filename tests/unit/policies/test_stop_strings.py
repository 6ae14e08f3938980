"""Where a reply is cut at a stop string."""

from hypothesis import given
from hypothesis import strategies as st

from spadework.policies.stop_strings import cut_at_stop


def decode(tokens: object) -> str:
    return bytes(tokens).decode("latin-1")  # type: ignore[call-overload]


@given(st.text("abx\n", min_size=1).map(str.encode), st.lists(st.sampled_from(["a", "ab", "\n\n", "x"]), max_size=2))
def test_the_cut_is_the_shortest_prefix_that_holds_a_stop(tokens: bytes, stops: list[str]) -> None:
    expected = next((n for n in range(1, len(tokens) + 1) if any(s in decode(tokens[:n]) for s in stops)), len(tokens))
    assert cut_at_stop(tuple(tokens), stops, decode) == expected


def test_a_stop_in_the_middle_stays_in() -> None:
    assert decode(b"one stop two"[: cut_at_stop(b"one stop two", ("stop",), decode)]) == "one stop"
