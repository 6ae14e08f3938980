"""When the machinery or the programs fail so often that a run must stop, or an environment must leave (faults.md, 4).

A fault is never a return, so rates and rewards are computed from what did not fail. That is only honest while little
fails: these functions say when it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spadework.errors import cause_lines, causes
from spadework.types import CONTROL_ARMS, Design, Episode, Fault, Group

FAILING = 0.5
"""An environment of whose plays the program spoils a larger share leaves the pool."""


def why_stop(designs: Sequence[Design], episodes: Sequence[Episode], most: float) -> str | None:
    """Why a run must not go on after a cycle, or ``None``.

    It stops when the machinery failed every attempt at a design, though other environments may still be played, and
    when more than the share ``most`` of the cycle's plays failed, by whomever.
    """
    met = [design.fault for design in designs if design.fault is not None]
    if met and len(met) == len(designs):
        return f"all {len(met)} attempts at a design failed by the machinery: {_told(met)}"
    failed = [episode.fault for episode in episodes if episode.fault is not None]
    if episodes and len(failed) / len(episodes) > most:
        return (
            f"{len(failed)} of {len(episodes)} episodes failed, more than run.max_fault_share = {most}: {_told(failed)}"
        )
    return None


def failing_environments(groups: Iterable[Group]) -> dict[str, str]:
    """Environments that fail too often to say anything, each with a line that says how often and why.

    Faults of the sandbox, the model or the deadline are not the program's, so they do not count.
    """
    episodes: dict[str, list[Episode]] = {}
    for group in groups:
        if group.arm not in CONTROL_ARMS:
            episodes.setdefault(group.environment_id, []).extend(group.episodes)
    failing = {}
    for name, played in episodes.items():
        faults = [one.fault for one in played if one.fault is not None and one.fault.kind == "program"]
        if len(faults) / len(played) > FAILING:
            failing[name] = f"{len(faults)} of {len(played)} plays of {name} failed by its program: {_told(faults)}"
    return failing


def _told(faults: Iterable[Fault]) -> str:
    """The most frequent causes, each with its count."""
    return "; ".join(cause_lines(causes(faults), most=3))
