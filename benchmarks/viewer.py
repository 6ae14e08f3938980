"""What the viewer takes on a run of a million episodes: ``python benchmarks/viewer.py [--quick] [--json] [--run DIR]``.

The run is made up but written through the store and its Parquet schemas: 400 cycles of 2,500 episodes in 100
environments, 10,000 environments and 20,000 designs in all. ``--quick`` has a tenth of the cycles. Every page is asked
for over HTTP, first of a server that has just started, then again; where chromium and playwright are, it is painted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from figures import Figure, machine, most, parser, show, told

from spadework.config import RunConfig
from spadework.runs.cycle_record import CycleRecord, PlayRow, RegretRow
from spadework.runs.store import RunStore
from spadework.runs.tables import EPISODES
from spadework.types import Arm, Design, Environment, Episode, Segment, Turn

ENVIRONMENTS, PLAYS, EVERY = 100, 25, 4
SKILLS = ("Mathematical Reasoning", "Logical Deduction", "Spatial Reasoning", "Pattern Recognition", "Optimization")
PROGRAM = "import random\n\n\nclass Game{number}Env:\n" + "".join(
    f"    def part_{part}(self, a, b):\n        return (a * {part} + b) % {{number}}\n\n" for part in range(60)
)
PAGES = {
    "overview": "overview",
    "environments": "environments",
    "environments, sorted by regret": "environments?sort=regret&desc=1",
    "environments, rejected": "environments?state=rejected",
    "points of the scatter": "points",
    "one environment": "environment?id={environment}",
    "episodes": "episodes",
    "episodes, page 10,000": "episodes?offset=499950",
    "episodes, sorted by return": "episodes?sort=return&desc=1",
    "episodes of one environment": "episodes?environment={environment}",
    "one episode": "episode?id={episode}",
    "rejections": "rejections",
    "designs": "designs",
    "one design": "design?id=0-0-0",
    "evaluation": "evaluation",
}

PAINTED = {
    "overview": ("overview", "canvas"),
    "environments": ("environments", "tbody tr"),
    "environments, sorted by regret": ("environments?sort=regret&desc=1", "tbody tr"),
    "environments, rejected": ("environments?state=rejected", "tbody tr"),
    "one environment": ("environment?id={environment}", "pre.source"),
    "episodes": ("episodes", "tbody tr"),
    "episodes, sorted by return": ("episodes?sort=return&desc=1", "tbody tr"),
    "one episode": ("episode?id={episode}", "section.card"),
    "one episode, token by token": ("episode?id={episode}&view=logprob", ".tok"),
    "rejections": ("rejections", "tbody tr"),
    "one design": ("design?id=0-0-0", "pre"),
    "evaluation": ("evaluation", "table"),
}
"""Page -> its address, and what is there once its data is."""
WATCH = """new MutationObserver((_, watching) => {
    if (!document.querySelector(READY)) return;
    watching.disconnect();
    requestAnimationFrame(() => setTimeout(() => { document.documentElement.dataset.painted = performance.now(); }));
}).observe(document, { childList: true, subtree: true });"""


def within(name: str, seconds: float, bar: float) -> Figure:
    return most(name, seconds, "s", bar)


def make_run(path: Path, cycles: int) -> None:
    """A finished run of ``cycles`` cycles."""
    config = RunConfig.model_validate({"model": {"name": "scripted"}, "run": {"cycles": cycles}})
    store, rng = RunStore.create(path, config), np.random.default_rng(0)
    episodes = base_episodes()
    for cycle in range(cycles):
        first = cycle - cycle % EVERY
        names = [f"{first:05d}{slot:03d}" for slot in range(ENVIRONMENTS)]
        rates = rng.random(ENVIRONMENTS)
        plays = [PlayRow(name, "unhinted", PLAYS, 0, rate, rate) for name, rate in zip(names, rates, strict=True)]
        record = CycleRecord(cycle, plays=plays, metrics=metrics(rng))
        if cycle == first:
            environments, designs = designed(cycle, names)
            regrets = [RegretRow(name, 0.3 * rate, 0.3 * rate - 0.2, 0.3 * rate + 0.2, 0.4, 16)
                       for name, rate in zip(names, rates, strict=True)]  # fmt: skip
            hinted = [PlayRow(name, "hinted", PLAYS, 0, 0.8, 0.8) for name in names]
            record = dataclasses.replace(
                record, environments=environments, designs=designs, regrets=regrets, plays=[*plays, *hinted]
            )
        store.commit(record, checkpoint=None)
        write_episodes(path / "episodes" / f"{cycle:05d}.parquet", episodes, cycle, names, rng)
    store.close()


METRICS = """agent/unhinted_win_rate agent/hinted_win_rate designer/regret designer/regret_low designer/regret_high
    pool/learnable_share tokens/sampled time/collect_s train/loss train/clip_share""".split()


def metrics(rng: np.random.Generator) -> dict[str, float]:
    return {name: float(rng.random()) for name in (*METRICS, *(f"other/{number}" for number in range(30)))}


def designed(cycle: int, names: list[str]) -> tuple[list[Environment], list[Design]]:
    """An environment a slot, each at the second attempt."""
    environments, designs = [], []
    for slot, name in enumerate(names):
        skill = SKILLS[slot % len(SKILLS)]
        source = PROGRAM.format(number=cycle * ENVIRONMENTS + slot + 2)
        document, prompt = f"document/{cycle}-{slot}", "Write one new environment. " * 200
        for attempt, environment in enumerate((None, name)):
            design = f"{cycle}-{slot}-{attempt}"
            findings = () if environment else (f"ENV{(1, 101, 204, 402)[slot % 4]:03d} it does not hold",)
            texts = (document, (), prompt, source, source, (), findings)
            designs.append(Design(design, cycle, slot, attempt, skill, *texts, environment_id=environment, ran=True))
        environments.append(
            Environment(name, source, "Add them up.", skill, "games", document, cycle, cycle, (), f"{cycle}-{slot}-1")
        )
    return environments, designs


def base_episodes() -> pa.Table:
    """A cycle's episodes, alike in all cycles but for what ``write_episodes`` replaces."""
    said = [f"\\boxed{{{turn}}}" for turn in range(4)]
    turns = tuple(Turn(f"Round {turn}. What is {turn} + {turn}?", text, text, 0.0) for turn, text in enumerate(said))
    segment = Segment(tuple(range(120)), (False,) * 60 + (True,) * 60, (0.0,) * 60 + (-0.5,) * 60, 0)
    arms: tuple[Arm, Arm] = ("unhinted", "hinted")
    rows = [
        Episode("", 0, "", arms[play % 2], play // 2, play // 2, turns, (segment,), "terminated", 0.0, "Done.")
        for _ in range(ENVIRONMENTS)
        for play in range(PLAYS)
    ]
    return pa.Table.from_pylist([asdict(row) for row in rows], schema=EPISODES)


def write_episodes(path: Path, table: pa.Table, cycle: int, names: list[str], rng: np.random.Generator) -> None:
    owned = [(name, play) for name in names for play in range(PLAYS)]
    columns = {
        "id": [f"{cycle}-{name}-{'uh'[play % 2]}{play // 2}" for name, play in owned],
        "cycle": [cycle] * len(owned),
        "environment_id": [name for name, _ in owned],
        "return_": rng.integers(0, 2, len(owned)).astype(float),
    }
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))
    pq.write_table(table, path, compression="zstd")


@contextmanager
def served(run: Path) -> Iterator[tuple[str, int]]:
    """The address of a viewer that has just started, and its process."""
    command = [sys.executable, "-m", "spadework", "view", "--no-browser", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def asked(address: str) -> float:
    """Seconds until the whole answer is here."""
    began = time.perf_counter()
    with urllib.request.urlopen(address, timeout=300) as answer:
        answer.read()
    return time.perf_counter() - began


def cpu(pid: int) -> float:
    """CPU seconds of a process so far, which do not depend on who else is busy."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def last_names(cycles: int) -> dict[str, str]:
    """Something of the last cycle in which there were designs."""
    last = cycles - 1 - (cycles - 1) % EVERY
    return {"environment": f"{last:05d}007", "episode": f"{last}-{last:05d}007-u3"}


def answers(run: Path, cycles: int) -> Iterator[Figure]:
    """Every page's data, from a fresh server and again."""
    names = last_names(cycles)
    with served(run) as (address, server):
        asked(f"{address}static/app.css")
        for page, path in PAGES.items():
            where = f"{address}api/{path.format(**names)}"
            burnt = cpu(server)
            yield within(f"{page}: first", asked(where), 1.0)
            yield within(f"{page}: CPU of the first", cpu(server) - burnt, 1.0)
            yield within(f"{page}: again", min(asked(where) for _ in range(3)), 0.5)
        yield told("map of environments by TF-IDF: first", asked(f"{address}api/likeness?kind=tfidf"), "s")


def paints(run: Path, cycles: int, repeats: int) -> Iterator[Figure]:
    """From the address to the page with its data: medians.

    Each of a fresh server and without a cache, in a browser that is open already.
    """
    chromium = shutil.which("chromium")
    with contextlib.suppress(ImportError):
        from playwright.sync_api import sync_playwright

        if chromium is None:
            return
        names = last_names(cycles)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            painted(browser, run, *PAINTED["overview"])
            for name, (place, ready) in PAINTED.items():
                times = [painted(browser, run, place.format(**names), ready) for _ in range(repeats)]
                yield within(f"{name}: painted", statistics.median(times), 1.0)


def painted(browser: Any, run: Path, place: str, ready: str) -> float:
    """Seconds, by the page's own clock, until the first frame in which ``ready`` is there."""
    with served(run) as (address, _):
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.add_init_script(WATCH.replace("READY", json.dumps(f"main:has(h1) {ready}")))
        page.goto(f"{address}#/{place}")
        page.wait_for_selector("html[data-painted]", timeout=60_000)
        seconds = float(page.locator("html").get_attribute("data-painted")) / 1000
        page.context.close()
    return seconds


def main() -> int:
    arguments = parser(__doc__, quick="a hundred thousand episodes: under 50 seconds")
    arguments.add_argument("--run", type=Path, help="keep the made-up run here, and use it when it is there")
    options = arguments.parse_args()
    cycles = 40 if options.quick else 400
    if not options.json:
        print(f"{machine()}, {cycles * ENVIRONMENTS * PLAYS:,} episodes")
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or Path(folder) / "run"
        if not (run / "run.sqlite").exists():
            make_run(run, cycles)
        return (
            0 if show(chain(answers(run, cycles), paints(run, cycles, 1 if options.quick else 3)), options.json) else 1
        )


if __name__ == "__main__":
    raise SystemExit(main())
