"""Deals blows to scripted runs at seeded moments, resumes each run, and looks whether anything was lost.

After every blow the run is resumed until it ends. It must then tell the same story as a run that nobody touched: the
same environments, designs, plays, episodes, training rows and metrics, each cycle once. Where a file was spoilt that
cannot be made again, a command that reads the run must name that file instead, in one line.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.blows import BLOWS, Blow
from tests.runs import cli, start_cli, story

SETTINGS = (
    *("run.cycles=3", "designer.environments=2", "play.episodes=2", "validation.seeds=2", "validation.panel=false"),
    "track.to=[]",
)
OPTIONS = [part for setting in SETTINGS for part in ("--set", setting)]
MOST_RESUMES = 3


@dataclass(frozen=True)
class Struck:
    """What became of a run after one blow."""

    blow: str
    seed: int
    moment: float
    """Seconds after the start of its process."""
    spoilt: str
    """The file that was spoilt, if any, relative to the run."""
    end: str
    """``as unbroken``, ``named`` (a spoilt file was refused by name), or what went wrong."""
    seconds: float
    """Until the run had ended."""

    @property
    def good(self) -> bool:
        return self.end in ("as unbroken", "named")


class Chaos:
    """Runs in ``folder``, each compared with one that nobody touched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        began = time.monotonic()
        done = cli("train", "scripted", "--run", folder / "unbroken", *OPTIONS)
        assert done.returncode == 0, done.stderr
        self._seconds = time.monotonic() - began
        self._story = story(folder / "unbroken")

    def deal(self, seeds: Sequence[int], kinds: Sequence[Blow] = BLOWS) -> Iterator[Struck]:
        """One blow a seed; kinds take turns."""
        for seed in seeds:
            yield self.strike(kinds[seed % len(kinds)], seed)

    def strike(self, blow: Blow, seed: int) -> Struck:
        """Start a run, strike it, resume it to its end, and compare."""
        rng, run = random.Random(seed), self._folder / f"{seed}"
        moment = rng.uniform(0.1, 1.0) * self._seconds
        began = time.monotonic()
        process = start_cli("train", "scripted", "--run", run, *OPTIONS)
        try:
            time.sleep(moment)
            spoilt = blow.strike(run, process, rng)
            process.wait(timeout=120)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
        end = self._end(run, blow, spoilt)
        where = str(spoilt.relative_to(run)) if spoilt else ""
        if end in ("as unbroken", "named"):
            shutil.rmtree(run, ignore_errors=True)
        return Struck(blow.name, seed, round(moment, 2), where, end, round(time.monotonic() - began, 2))

    def _end(self, run: Path, blow: Blow, spoilt: Path | None) -> str:
        refused = self._resume(run)
        if refused:
            return _judge(refused, blow, spoilt)
        for verb in (("replay", run, "--all"), ("export", run, "--what", "sequences", "--out", run / "rows.jsonl")):
            done = cli(*verb)
            if done.returncode:
                return _judge(done.stderr, blow, spoilt)
        if story(run) != self._story:
            return "tells another story"
        lines = (run / "metrics.jsonl").read_text().splitlines()
        return "as unbroken" if len(lines) == 3 else f"{len(lines)} lines of metrics for 3 cycles"

    def _resume(self, run: Path) -> str:
        """Go on until the run has ended; gives what it said where it did not."""
        said = "it was resumed too often"
        for _ in range(MOST_RESUMES):
            began = (run / "run.sqlite").exists()
            done = cli("train", "--resume", "--run", run) if began else cli("train", "scripted", "--run", run, *OPTIONS)
            if done.returncode == 0:
                return ""
            said = done.stderr
            if "run the same command again" not in said and "no cycle" not in said:
                break
            shutil.rmtree(run, ignore_errors=True)
        return said


def _judge(said: str, blow: Blow, spoilt: Path | None) -> str:
    if "Traceback" in said:
        return f"a traceback: {said.strip().splitlines()[-1]}"
    names = spoilt is not None and any(part in said for part in (spoilt.name, spoilt.parent.name))
    if blow.after == "may be refused" and names:
        return "named"
    return f"refused: {said.strip()[-300:]}"
