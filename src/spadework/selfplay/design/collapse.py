"""An alarm for mode collapse of the designer: it writes nearly the same program again and again."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spadework.config import DesignerSection
from spadework.selfplay.design.novelty import fingerprint
from spadework.types import Design

FEWEST = 8
"""The alarm stays silent for fewer designs than this, since a few may look alike by chance."""
MAX_STRUCTURE_SHARE = 1 / 3
"""The alarm goes off when a larger share of the designs has one structure."""


class CollapseAlarm:
    """Watches the last ``designer.recent`` designs, accepted or not.

    Args:
        settings: how many designs are watched, and at which diversity the alarm goes off.
        diversity: computes the diversity of programs, in [0, 1] (Vendi score over n).
    """

    def __init__(self, settings: DesignerSection, diversity: Callable[[Sequence[str]], float]) -> None:
        self.settings, self.diversity = settings, diversity
        self._sources: deque[str] = deque(maxlen=settings.recent)
        self._told: set[str] = set()
        """The problems that were told of and still stand."""

    def look(self, designs: Iterable[Design]) -> tuple[dict[str, float], list[str]]:
        """Add a cycle's designs; returns metrics, and a line for each problem that is new.

        A problem that stays is told once; it is told again if it went away in between. Both are empty for a cycle
        without designs.
        """
        written = [design.source for design in designs if design.source and design.fault is None]
        self._sources.extend(written)
        if not written:
            return {}, []
        share, vendi = largest_structure_share(self._sources), self.diversity(list(self._sources))
        metrics = {"designer/largest_structure_share": share, "designer/vendi": vendi}
        if len(self._sources) < FEWEST:
            return metrics, []
        n, settings, found = len(self._sources), self.settings, dict[str, str]()
        if share > MAX_STRUCTURE_SHARE:
            found["structure"] = f"collapse: {share:.0%} of the last {n} designs have one structure"
        if vendi < settings.min_vendi:
            found["diversity"] = f"collapse: the last {n} designs are as diverse as {vendi * n:.1f} (Vendi score)"
        lines = [line for kind, line in found.items() if kind not in self._told]
        self._told = set(found)
        return metrics, lines

    def state_dict(self) -> dict[str, Any]:
        """The watched designs, and what was told of them."""
        return {"sources": list(self._sources), "told": sorted(self._told)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self._sources = deque(state["sources"], maxlen=self.settings.recent)
        self._told = set(state.get("told", ()))  # runs of 0.1 did not store it


def largest_structure_share(sources: Iterable[str]) -> float:
    """The share of programs with the most common structure, ignoring names, texts and numbers; NaN without programs."""
    counts = Counter(fingerprint(source, numbers=False) for source in sources)
    return max(counts.values()) / counts.total() if counts else math.nan
