"""A run as one HTML file that opens from disk: the same front end, with its answers inside instead of a server."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from spadework.viewer.app import STATIC, as_json, shell
from spadework.viewer.layout import layout
from spadework.viewer.pages import Answer, Pages
from spadework.viewer.paging import Ask

DESIGNS = 2_000
"""The newest attempts that the report lists; all are counted."""
PAIRS = 2
"""Seeds whose episodes are shown of each environment that is shown whole, in every arm that played them."""
_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"


def report(pages: Pages, environments: int) -> str:
    """The file's text: all curves and tables, and ``environments`` environments whole, with a few episodes of each.

    Those with the largest regret come first, then the newest.
    """
    rows = pages.environments(0, Ask())["total"]
    chosen = _choose(_all(pages, Ask()), environments)
    return _fill(_answers(pages, chosen), f"A report: it shows {len(chosen)} of {rows} environments whole.")


def _choose(rows: Sequence[Answer], count: int) -> list[Answer]:
    measured = sorted((row for row in rows if row["regret"] is not None), key=lambda row: -row["regret"])
    rest = [row for row in rows if row["regret"] is None]
    return (measured + rest)[:count]


def _answers(pages: Pages, chosen: Sequence[Answer]) -> dict[str, Any]:
    """Path of the API -> answer; ``path/id`` where the page asks for one thing."""
    designs = pages.designs(0, Ask(sort="cycle", desc=True, limit=DESIGNS))
    rejections = pages.rejections(0)
    wanted = {row["design"] for row in chosen if row["design"]}
    wanted |= {one["id"] for reason in rejections["reasons"] for one in reason["examples"]}
    episodes = [row for environment in chosen for row in _episodes(pages, environment)]
    accepted, rejected = _all(pages, Ask()), _all(pages, Ask(where={"state": "rejected"}))
    points = pages.points(0)
    kind = next(iter(points["kinds"]))
    skills = pages.environments(0, Ask())["skills"]
    return {
        "version": pages.version(),
        "overview": pages.overview(),
        "environments": {"rows": accepted, "total": len(accepted), "skills": skills},
        "environments/rejected": {"rows": rejected[:DESIGNS], "total": len(rejected), "skills": skills},
        "points": points,
        "likeness": layout(pages.sources(0, kind), kind, points["ways"][0]),
        "timeline": pages.timeline(0, 0, None),
        "rejections": rejections,
        "designs": designs,
        "evaluation": pages.evaluation(),
        "previews": pages.previews(0, [row["id"] for row in episodes]),
        "episodes": {"rows": episodes, "total": len(episodes)},
        **{f"environment/{row['id']}": pages.environment(0, row["id"]) for row in chosen},
        **{f"episode/{row['id']}": pages.episode(0, row["id"]) for row in episodes},
        **{f"episode-tokens/{row['id']}": pages.episode_tokens(0, row["id"]) for row in episodes},
        **{f"design/{name}": pages.design(0, name) for name in sorted(wanted)},
        **{f"design-tokens/{name}": pages.design_tokens(0, name) for name in sorted(wanted)},
    }


def _all(pages: Pages, ask: Ask) -> list[Answer]:
    rows: list[Answer] = pages.environments(0, Ask(where=ask.where, limit=1_000_000))["rows"]
    return rows


def _episodes(pages: Pages, environment: Answer) -> list[Answer]:
    """Both arms on the first seeds of the cycle in which it entered."""
    where = {"environment": environment["id"], "cycle": str(environment["cycle"])}
    rows: list[Answer] = pages.episodes(0, Ask(where=where, limit=1_000))["rows"]
    return [row for row in rows if row["index"] < PAIRS]


def _fill(answers: dict[str, Any], note: str) -> str:
    """The page with everything that it links to put inside."""
    modules = {f"ui/{path.name}": _data_url(path.read_bytes()) for path in sorted((STATIC / "ui").glob("*.js"))}
    data = as_json({"answers": answers, "note": note}).replace("<", "\\u003c")
    charts, style = _text("vendor/echarts.common.min.js"), _text("app.css")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    start = '<script type="module">import "ui/app.js";</script>'
    inside = {
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n{policy}',
        '<link rel="stylesheet" href="static/app.css">': f"<style>{style}</style>",
        "IMPORTS": json.dumps({"imports": modules}),
        "PRELOADS\n": "",
        '<script type="module" src="static/ui/app.js"></script>': (
            f'<script>{charts}</script>\n<script type="application/json" id="data">{data}</script>\n{start}'
        ),
    }
    html = shell()
    for outside, inner in inside.items():
        before, found, after = html.partition(outside)
        if not found:
            raise AssertionError(f"index.html no longer holds {outside!r}")
        html = before + inner + after
    return html


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _data_url(script: bytes) -> str:
    return "data:text/javascript;base64," + base64.b64encode(script).decode()
