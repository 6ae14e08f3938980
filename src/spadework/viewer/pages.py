"""What each page shows, as plain data: the server sends it and the report embeds it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from spadework.analysis.designs import ACCEPTED
from spadework.analysis.environments import design_rows, finite, relatives
from spadework.analysis.maps import KINDS, map_kinds, map_ways
from spadework.analysis.titles import program_title
from spadework.config import RunConfig
from spadework.config.differences import differing, flat_settings
from spadework.config.files import default_config, dump_config
from spadework.envs.check.codes import CODES
from spadework.envs.registry import find_domain
from spadework.errors import ConfigError, SpadeworkError
from spadework.viewer.episodes import EpisodeTable
from spadework.viewer.evaluations import evaluations, paper_rows
from spadework.viewer.layout import LIMITS
from spadework.viewer.paging import MOST, Ask, page
from spadework.viewer.records import RunView
from spadework.viewer.source import pieces
from spadework.viewer.timeline import timeline
from spadework.viewer.token_text import TokenTexts

Answer = dict[str, Any]

MEASURES = ("name", "summary", "measured", "unhinted", "unhinted_n", "hinted", "hinted_n", "regret", "regret_low",
            "regret_high", "last_cycle")  # fmt: skip
"""What a rejected design has none of."""
EXAMPLES = 3
"""Rejected designs named beside each reason."""
TIMES = ("time/collect_s", "time/update_s")
"""The metrics that add up to the seconds that a run took."""
MEANINGS = {
    ACCEPTED: "it passed every check and entered the pool",
    "COPY": "it repeats a design that was accepted before",
    "sandbox": "the sandbox failed; this says nothing about the design",
    "endpoint": "the server of the model failed; this says nothing about the design",
    "grader": "a grader failed; this says nothing about the design",
    "model": "our own model failed; this says nothing about the design",
    "program": "the program failed while it was checked",
}
"""What the reasons mean that are no code of a check: outcomes, and kinds of faults."""
TOKENS_SHOWN = 40_000
"""Tokens of one transcript that are sent one by one; the rest is only counted."""
_DOCUMENT = re.compile(
    r"<document>\n(?P<marked>.*?)\n</document>|^Document \([^\n]*\): (?P<titled>.*?)\nSkill: ", re.DOTALL | re.MULTILINE
)
"""As ``prompts/designer_*.md`` have it: between marks, or after its title."""


class Pages:
    """The pages over some runs; a run is named by its place in the list."""

    def __init__(self, runs: Sequence[RunView], token_texts: Callable[[RunConfig], TokenTexts | None]) -> None:
        self.runs = runs
        self._tables = [EpisodeTable(run.path) for run in runs]
        self._token_texts = token_texts

    def version(self) -> Answer:
        """Which runs there are and how far each is: what a page asks for every other second."""
        return {"runs": [{"name": run.name, "cycles": run.cycles(), "age": run.age()} for run in self.runs]}

    def prepare(self) -> None:
        """Read what the pages after the first one need; a run that cannot be read says so on its page."""
        for view in self.runs:
            with suppress(SpadeworkError):
                view.untitled()
                view.designs()
        for view in self.runs:  # last: it takes the processor from whoever waits for a first page
            with suppress(SpadeworkError):
                view.environments()

    def overview(self) -> Answer:
        """Every metric of every run, and which settings differ (for one run: from the defaults)."""
        configs = [run.config for run in self.runs]
        compared = [default_config(), *configs] if len(configs) == 1 else configs
        rows = [{"key": key, "values": [_setting(value) for value in values]} for key, values in differing(compared)]
        names = [run.name for run in self.runs]
        return {
            "runs": [self._run(run) for run in self.runs],
            "settings": {"columns": ["default", *names] if len(names) == 1 else names, "rows": rows},
        }

    def environments(self, run: int, ask: Ask) -> Answer:
        """A page of the table of environments; with ``state=rejected`` one of the designs that became none."""
        view = self.runs[run]
        if ask.where.get("state") == "rejected":
            rows = [_rejected(design) for design in view.designs()[::-1] if design["environment"] is None]
            columns: tuple[str, ...] = ("id", "skill", "document", "why")
        else:
            by_title = ask.search or ask.sort in ("name", "summary")
            rows = (view.environments() if by_title else view.untitled())[::-1]
            columns = ("id", "name", "summary", "skill", "document", "state", "why")
        found = page(rows, ask, columns)
        if ask.where.get("state") != "rejected":
            view.title(found["rows"])
        return {**found, "skills": view.skills()}

    def points(self, run: int) -> Answer:
        """Every environment, for the scatter and the map, and which maps there are."""
        keys = ("id", "name", "skill", "cycle", "unhinted", "regret", "state")
        rows = [{key: row[key] for key in keys} for row in self.runs[run].environments()]
        return {"points": rows, "kinds": {kind: KINDS[kind] for kind in map_kinds()}, "ways": map_ways()}

    def sources(self, run: int, kind: str) -> Mapping[str, str]:
        """Name -> program of the environments that a map of this kind shows."""
        return self.runs[run].programs(LIMITS[kind])

    def environment(self, run: int, name: str) -> Answer | None:
        """One environment with its program, relatives and plays."""
        view = self.runs[run]
        rows = {row["id"]: row for row in view.untitled()}
        if name not in rows:
            return None
        ancestors, descendants = relatives(rows.values(), name)
        family = [name, *(one for generation in (*ancestors, *descendants) for one in generation)]
        view.title(rows[one] for one in family if one in rows)
        with view.open() as store:
            texts = store.query("SELECT source, hint FROM environments WHERE id = ? LIMIT 1", name)[0]
            plays = store.query("SELECT cycle, arm, episodes, faults, win_rate, mean_return FROM plays WHERE "
                                "environment_id = ? ORDER BY cycle, arm DESC", name)  # fmt: skip
            scores = store.query("SELECT * FROM scores WHERE design_id = ?", rows[name]["design"])
            prompts = store.query("SELECT prompt FROM designs WHERE id = ?", rows[name]["design"])
        return {
            **rows[name],
            "hint": texts["hint"],
            "grounding": document_of(prompts[0]["prompt"]) if prompts else "",
            "source": pieces(texts["source"]),
            "plays": [_finite(play) for play in plays],
            "pairs": self._pairs(run, name, rows[name]["measured"]),
            "score": scores[0] if scores else None,
            "ancestors": [[_known(rows, n) for n in generation] for generation in ancestors],
            "descendants": [[_known(rows, n) for n in generation] for generation in descendants],
        }

    def program(self, run: int, name: str) -> Mapping[str, Any] | None:
        """What the sandbox needs of an environment: source, hint, domain."""
        with self.runs[run].open() as store:
            rows = store.query("SELECT source, hint, domain FROM environments WHERE id = ? LIMIT 1", name)
        return rows[0] if rows else None

    def episodes(self, run: int, ask: Ask) -> Answer:
        """A page of episodes."""
        return self._tables[run].page(ask, self.runs[run].cycles())

    def previews(self, run: int, names: Sequence[str]) -> Answer:
        """What a table shows of a few episodes beside their figures. Apart from it: replies are long to read."""
        return {"previews": self._tables[run].previews(names[:MOST])}

    def timeline(self, run: int, first: int | None, last: int | None) -> Answer:
        """The curriculum as bars over cycles; see ``viewer.timeline``."""
        return timeline(self.runs[run], first, last)

    def episode(self, run: int, name: str) -> Answer | None:
        """One episode, turn by turn, and the others that it can be compared with."""
        row = self._episode(run, name)
        if row is None:
            return None
        partners = self._tables[run].partners(row["cycle"], row["environment_id"])
        program = self.program(run, row["environment_id"])
        return {
            **{key: value for key, value in row.items() if key not in ("segments", "return_", "environment_id")},
            "turns": _with_pieces(row["turns"], program["domain"] if program else ""),
            "environment": row["environment_id"],
            "name": program_title(program["source"]).name if program else "",
            "return": row["return_"],
            "sampled": sum(sum(segment["loss_mask"]) for segment in row["segments"]),
            "partners": [{key: one[key] for key in ("id", "arm", "index", "seed", "return")} for one in partners],
        }

    def played(self, run: int, name: str) -> Answer | None:
        """What it takes to play an episode once more: its program, seed and actions."""
        row = self._episode(run, name)
        program = self.program(run, row["environment_id"]) if row else None
        if row is None or program is None:
            return None
        return {"program": program, "seed": row["seed"], "actions": [turn["action"] for turn in row["turns"]]}

    def episode_tokens(self, run: int, name: str) -> Answer | None:
        """The tokens of an episode. Apart from it: to read them, the first time loads the tokenizer."""
        row = self._episode(run, name)
        if row is None:
            return None
        advantages = [trained["advantages"] for trained in self._tables[run].trained(row["cycle"], name)]
        return {"segments": self._segments(run, row["segments"], advantages)}

    def _pairs(self, run: int, name: str, cycle: int | None) -> list[Answer]:
        """The seeds of one cycle that were played both without and with the hint, those first that it changed most."""
        if cycle is None:
            return []
        arms: dict[str, dict[int, Answer]] = {"unhinted": {}, "hinted": {}}
        for episode in self._tables[run].partners(cycle, name):
            if episode["arm"] in arms:
                arms[episode["arm"]].setdefault(episode["seed"], {key: episode[key] for key in ("id", "return")})
        seeds = sorted(arms["unhinted"].keys() & arms["hinted"].keys())
        pairs = [{"seed": seed, **{arm: arms[arm][seed] for arm in arms}} for seed in seeds]
        return sorted(pairs, key=lambda pair: -abs((pair["hinted"]["return"] or 0) - (pair["unhinted"]["return"] or 0)))

    def _episode(self, run: int, name: str) -> Answer | None:
        cycle = name.partition("-")[0]
        return self._tables[run].one(int(cycle), name) if cycle.isascii() and cycle.isdigit() else None

    def rejections(self, run: int) -> Answer:
        """Attempts by what became of them, the most frequent first, each with a few examples."""
        designs = self.runs[run].designs()
        by_reason: dict[str, list[Answer]] = {}
        for design in designs:
            by_reason.setdefault(design["reason"], []).append(design)
        reasons = [
            {
                "reason": reason,
                "title": CODES[reason].title if reason in CODES else MEANINGS.get(reason.partition(" fault ")[0], ""),
                "count": len(same),
                "share": len(same) / len(designs),
                "examples": [
                    {key: one[key] for key in ("id", "cycle", "skill", "why")}
                    for one in same[-EXAMPLES:]
                    if reason != ACCEPTED
                ],
            }
            for reason, same in sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
        ]
        return {"reasons": reasons, "attempts": len(designs)}

    def designs(self, run: int, ask: Ask) -> Answer:
        """A page of attempts."""
        return page(self.runs[run].designs(), ask, ("id", "skill", "document", "why"))

    def design(self, run: int, name: str) -> Answer | None:
        """A designer's attempt: prompt, reply, what was found, what it was paid."""
        with self.runs[run].open() as store:
            found = store.query("SELECT prompt, reply, source FROM designs WHERE id = ?", name)
            scores = store.query("SELECT * FROM scores WHERE design_id = ?", name)
            rows = design_rows(store, name)
        if not rows:
            return None
        return {
            **rows[0],
            "prompt": found[0]["prompt"],
            "reply": found[0]["reply"],
            "source": pieces(found[0]["source"]),
            "score": scores[0] if scores else None,
        }

    def design_tokens(self, run: int, name: str) -> Answer:
        """The tokens of a reply that was trained; none of another."""
        with self.runs[run].open() as store:
            scores = store.query("SELECT cycle FROM scores WHERE design_id = ?", name)
        trained = self._tables[run].trained(scores[0]["cycle"], name) if scores else []
        return {"segments": self._segments(run, trained, [segment["advantages"] for segment in trained])}

    def evaluation(self) -> Answer:
        """Results of every run, and the paper's."""
        rows = [{"run": place, **row} for place, run in enumerate(self.runs) for row in evaluations(run.path)]
        return {"rows": rows, "paper": paper_rows()}

    def _run(self, run: RunView) -> Answer:
        with run.open() as store:
            series, machine = store.metrics(), store.machine()
        config = run.config
        return {
            "name": run.name,
            "path": str(run.path),
            "model": config.model.name,
            "domain": config.domain,
            "cycles": run.cycles(),
            "of": config.run.cycles,
            "age": run.age(),
            "machine": machine,
            "seconds": math.fsum(value for name in TIMES for _, value in series.get(name, ()) if math.isfinite(value)),
            "tokens": math.fsum(value for _, value in series.get("tokens/sampled", ()) if math.isfinite(value)),
            "config": [
                {"key": key, "value": _setting(value)} for key, value in flat_settings(dump_config(config)).items()
            ],
            "metrics": {
                metric: [[cycle, finite(value)] for cycle, value in points] for metric, points in series.items()
            },
        }

    def _segments(self, run: int, segments: Sequence[Answer], advantages: Sequence[Sequence[float]]) -> list[Answer]:
        """Sampled tokens with their text; ``advantages`` has one entry for each segment that was trained."""
        texts_of = self._token_texts(self.runs[run].config)
        left, trained, shown = TOKENS_SHOWN, iter(advantages), []
        for segment in segments:
            own = next(trained, None) if any(segment["loss_mask"]) else None
            size = min(left, len(segment["tokens"]))
            left -= size
            tokens = segment["tokens"][:size]
            shown.append({
                "texts": texts_of(tokens) if texts_of else [f"[{token}]" for token in tokens],
                "sampled": [int(one) for one in segment["loss_mask"][:size]],
                "logprobs": [round(value, 4) for value in segment["logprobs"][:size]],
                "advantages": list(own[:size]) if own else None,
                "more": len(segment["tokens"]) - size,
                "policy_version": segment["policy_version"],
                "temperature": segment["temperature"],
            })  # fmt: skip
        return shown


def _known(rows: Mapping[str, Answer], name: str) -> Answer:
    """A relative; one that entered in another run, or is bundled, has its name alone."""
    row = rows.get(name)
    return {
        "id": name,
        "known": row is not None,
        **({k: row[k] for k in ("name", "cycle", "unhinted", "regret", "parents")} if row else {}),
    }


def _rejected(design: Answer) -> Answer:
    keys = ("id", "cycle", "skill", "document", "why")
    return {**dict.fromkeys(MEASURES), **{key: design[key] for key in keys}, "episodes": 0, "state": "rejected"}


def document_of(prompt: str) -> str:
    """The document that a designer was given, which stands last in its prompt; nothing where it was given none."""
    found = list(_DOCUMENT.finditer(prompt))
    return str(found[-1]["marked"] or found[-1]["titled"] or "") if found else ""


def _setting(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _finite(row: Mapping[str, Any]) -> Answer:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def _with_pieces(turns: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Turns with their actions in pieces (``shown``), as the domain of that name shows them."""
    try:
        display = find_domain(name).display
    except ConfigError:  # the domain's plug-in is not on this machine: the run can be read all the same
        return turns
    return [{**turn, "shown": [asdict(piece) for piece in display.step(turn["action"])]} for turn in turns]
