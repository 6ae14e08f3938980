"""Python sources pass one parser, from whichever thread."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spadework.text import parse_python

EXAMPLES = Path(__file__).parents[2] / "examples" / "environments" / "games"


class _Slow:
    """Runs Python when the collector frees it, so that another thread gets its turn in the midst of a parse."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self) -> None:
        for _ in range(5):
            pass


def test_threads_may_parse_at_once() -> None:
    """CPython 3.11 fails with "AST constructor recursion depth mismatch" where nothing keeps them apart."""
    sources = [path.read_text() for path in sorted(EXAMPLES.glob("*.py"))[:6]] * 8
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()

    def parse_all(_: int) -> int:
        for source in sources:
            [_Slow() for _ in range(20)]
            parse_python(source)
        return len(sources)

    sys.setswitchinterval(1e-6)
    gc.set_threshold(1)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(parse_all, range(4))) == [len(sources)] * 4
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    "source", ["x = (", "\0", "(" * 5_000, "-" * 200_000 + "1", "f'" + "{x}" * 11_000 + "'", "\ud800", b"\xff"]
)
def test_what_cannot_be_parsed_is_a_syntax_error(source: str | bytes) -> None:
    with pytest.raises(SyntaxError):
        parse_python(source)
