"""Deals blows to runs and looks whether anything was lost: ``python benchmarks/chaos.py [--quick] [--json]``.

Each blow has a seed, which chooses its kind and its moment. ``--quick`` deals four, ``--blows N`` as many as you say.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures import Figure, least, machine, parser, show, told
from tests.chaos.driver import Chaos


def main() -> int:
    """Deal the blows; 1 where one of them cost something."""
    options = parser(__doc__, quick="four blows")
    options.add_argument("--blows", type=int, default=240, help="how many (default 240, twenty of each kind)")
    given = options.parse_args()
    if not given.json:
        print(machine())
    return 0 if show(_deal(4 if given.quick else given.blows), given.json) else 1


def _deal(count: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        struck = []
        for one in Chaos(Path(folder)).deal(range(count)):
            struck.append(one)
            if not one.good:
                print(one, file=sys.stderr)
    yield least("runs that lost nothing", sum(one.good for one in struck) / count, f"of {count}", 1.0)
    for kind in dict.fromkeys(one.blow for one in struck):
        ends = [one.end for one in struck if one.blow == kind]
        yield told(f"{kind}: as unbroken", ends.count("as unbroken"), f"of {len(ends)}")


if __name__ == "__main__":
    sys.exit(main())
