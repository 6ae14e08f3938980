"""The report of a study: verdicts first, then every number that they rest on, and the settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from spadework.config.differences import flat_settings
from spadework.config.files import default_config, dump_config
from spadework.errors import ConfigError
from spadework.runs.files import write_text
from spadework.significance import EXACT, PATTERNS, scipy_stats
from spadework.study.comparisons import Comparison
from spadework.study.document import Block, Code, Heading, Picture, Table, Text, load_templates, to_html, to_markdown
from spadework.study.folder import StudyFolder, write_json
from spadework.study.plots import draw
from spadework.study.results import Reading, Results, as_json

CAPTIONS = {
    "by-updates": "Each measure as it stood after so many cycles: mean over seeds, and its 95 % interval.",
    "by-time": "The same by training time; the dotted line is the time at which arms are compared.",
    "by-seed": "Each run at equal updates (circles), the mean over seeds (diamond) and its 95 % interval.",
}


def check_report_packages() -> None:
    """Raise ``ConfigError`` where a package is missing that the report needs: before the runs, not after them."""
    scipy_stats()
    load_templates()


def write_report(results: Results, frozen: Mapping[str, Any], folder: StudyFolder) -> list[str]:
    """Write ``report.md``, ``report.html``, the figures and ``results.json``.

    Returns a note for whoever asked, where the figures could not be drawn. Raises ``ConfigError`` without the packages
    of ``check_report_packages``.
    """
    target = folder.report
    target.mkdir(parents=True, exist_ok=True)
    notes: list[str] = []
    try:
        pictures = draw(results, target)
    except ConfigError as error:
        pictures, notes = [], [str(error)]
    blocks = list(_blocks(results, frozen, pictures))
    texts = {"report.md": to_markdown(blocks), "report.html": to_html(blocks, target)}
    for name, text in texts.items():
        write_text(target / name, text)
    write_json(target / "results.json", as_json(results))
    return notes


def _blocks(results: Results, frozen: Mapping[str, Any], pictures: list[str]) -> Iterator[Block]:
    study = results.study
    yield Heading(study.title, 1)
    if study.question:
        yield Text(study.question)
    yield Text(_state(results, frozen))
    if study.hypotheses:
        yield Heading("Verdicts at equal updates")
        yield _verdicts(results.updates)
        yield Heading("The same at equal training time")
        yield Text(_time_limit(results))
        yield _verdicts(results.time)
        yield Heading("Comparisons")
        yield _comparisons(results.updates)
        yield Text("At equal training time:")
        yield _comparisons(results.time)
        yield Text(_tests(results))
    yield Heading("Measures")
    yield Text(f"After {study.cycles} cycles, mean over seeds with its 95 % interval:")
    yield _measures(results, results.updates)
    yield Text(f"After {_minutes(results.time.limit)} of training:")
    yield _measures(results, results.time)
    for stem in pictures:
        yield Picture(stem, CAPTIONS[stem])
    yield Heading("Every run")
    yield _runs(results)
    yield from _precision(results)
    yield Heading("Settings, fixed before the first run")
    yield from _settings(results, frozen)


def _state(results: Results, frozen: Mapping[str, Any]) -> str:
    study = results.study
    text = f"{len(study.arms)} arms × {len(study.seeds)} seeds × {study.cycles} cycles; "
    if results.finished < results.expected:
        text += f"INCOMPLETE: {results.finished} of {results.expected} runs are finished, and only those are counted. "
    else:
        text += "all runs are finished. "
    if frozen["quick"]:
        text += "This is the quick version: it shows that everything works, and is too small to decide anything. "
    tuned = ", ".join(map(str, study.tuned_on))
    return text + (f"Settings were chosen on other seeds ({tuned})." if tuned else "No seeds for tuning are named.")


def _time_limit(results: Results) -> str:
    return (
        f"Every run is read at {_minutes(results.time.limit)} of training, when the fastest one ended; making a pool "
        "counts as training time, playing held-out environments does not."
    )


def _verdicts(reading: Reading) -> Table:
    rows = [
        (one.claim, one.verdict, "yes" if all(c.meets for c in one.comparisons) else "no", _p(one.p), _p(one.corrected))
        for one in reading.decided
    ]
    return Table(("hypothesis", "verdict", "estimate beyond the bar", "p", "p after Holm"), tuple(rows), right=False)


def _comparisons(reading: Reading) -> Table:
    rows = [
        (one.claim, c.than, _figure(c.estimate), _interval(c), _p(c.t_p), _p(c.flip_p), _p(c.opposite_p), str(c.n))
        for one in reading.decided
        for c in one.comparisons
    ]
    head = ("hypothesis", "against", "estimate", "95 % interval", "p (t)", "p (sign flip)", "p (short of it)", "pairs")
    return Table(head, tuple(rows))


def _tests(results: Results) -> str:
    seeds = len(results.study.seeds)
    least = 0.5**seeds if seeds <= EXACT else 1 / (1 + PATTERNS)
    alpha, count = results.study.alpha, len(results.study.hypotheses)
    return (
        "p is one-sided, for lying beyond the bar, by the paired t test over seeds. The sign-flip test stands beside "
        f"it (with {seeds} seeds it cannot fall below {_p(least)}). A claim against several arms takes the largest of "
        f"its p. Held: p after Holm's correction over all {count} hypotheses is at most {alpha}. Not held: p for lying "
        f"short of the bar is at most {alpha} against at least one of them. Undecided: neither. Where all differences "
        "are the same the t test has nothing to go by, and sign flips decide. Seeds are few, and t assumes that "
        "differences between seeds are roughly normal."
    )


def _measures(results: Results, reading: Reading) -> Table:
    arms = list(results.study.arms)
    rows = []
    for name, measure in results.study.measures.items():
        cells = []
        for arm in arms:
            seen = reading.interval(name, arm)
            ends = "" if math.isnan(seen.low) else f" ({_figure(seen.low)} to {_figure(seen.high)})"
            cells.append(_figure(seen.mean) + ends)
        rows.append((measure.label, *cells))
    return Table(("measure", *(results.study.label(arm) for arm in arms)), tuple(rows))


def _runs(results: Results) -> Table:
    study = results.study
    rows = []
    for arm in study.arms:
        for place, seed in enumerate(study.seeds):
            run = results.runs.get((arm, seed))
            passed = _minutes(run.clock[-1]) if run else "–"
            state = f"{run.updates if run else 0}{'' if run and run.done else ' (unfinished)'}"
            values = [_figure(results.updates.values[name][arm][place]) for name in study.measures]
            rows.append((f"{study.label(arm)}, seed {seed}", state, passed, *values))
    labels = [measure.label for measure in study.measures.values()]
    return Table(("run", "cycles", "training", *labels), tuple(rows))


def _precision(results: Results) -> Iterator[Block]:
    held = results.study.heldout
    lines = [line for run in results.runs.values() for line in run.evaluations]
    if held is None or not lines:
        return
    worst = max(results.errors)
    digests = {str(line["digest"]) for line in lines}
    faults = sum(int(line["faults"]) for line in lines)
    yield Heading("Held-out environments")
    yield Text(
        f"{lines[0]['environments']} environments, {lines[0]['episodes']} unhinted episodes an evaluation, the same "
        f"seeds for every run; {faults} episodes of {sum(int(line['episodes']) for line in lines)} ended by a fault, "
        f"and count as losses. The largest standard error of a win rate is {worst:.3f}, "
        + ("within" if worst <= held.max_error else "ABOVE")
        + f" the {held.max_error:g} asked for."
        + ("" if len(digests) == 1 else " WARNING: not all runs played the same environments.")
    )


def _settings(results: Results, frozen: Mapping[str, Any]) -> Iterator[Block]:
    told = ", ".join(f"{name} {version}" for name, version in frozen["versions"].items())
    yield Text(
        f"`{frozen['file']}`, SHA-256 `{frozen['sha256']}`; seeds {', '.join(map(str, frozen['seeds']))}; {told}. "
        "`study.toml` and `frozen.json` hold the file and all resolved settings."
    )
    defaults = flat_settings(dump_config(default_config()))
    common = flat_settings(frozen["configs"][""])
    yield Text("Of every arm, where it differs from the default:")
    yield Code("\n".join(f"{key} = {value}" for key, value in common.items() if value != defaults.get(key)))
    rows = []
    for arm in results.study.arms:
        own = flat_settings(frozen["configs"][arm])
        differs = ", ".join(f"`{key} = {value}`" for key, value in own.items() if value != common.get(key))
        rows.append((results.study.label(arm), differs or "nothing"))
    yield Table(("arm", "differs by"), tuple(rows), right=False)


def _interval(one: Comparison) -> str:
    if math.isnan(one.low):
        return "–"
    return "unbounded" if math.isinf(one.low) else f"{_figure(one.low)} to {_figure(one.high)}"


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "< .001" if value < 0.001 else f"{value:.3f}"


def _minutes(seconds: float) -> str:
    if math.isnan(seconds):
        return "an unknown time"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
