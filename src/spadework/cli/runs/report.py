"""``spadework report``: a run's page as one HTML file, to keep or to send around."""

from __future__ import annotations

import argparse
from pathlib import Path

from spadework.errors import ConfigError
from spadework.runs.files import write_text
from spadework.viewer.episodes import needs_viewer
from spadework.viewer.records import RunView


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: RUN/report.html")
    parser.add_argument(
        "--environments", type=int, default=30, metavar="N", help="how many are shown whole (default: 30)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    try:
        from spadework.viewer.pages import Pages
        from spadework.viewer.report import report
        from spadework.viewer.trials import build_tools
    except ImportError as error:
        raise needs_viewer(str(error.name)) from None
    view = RunView(args.run)
    out: Path = args.out or args.run / "report.html"
    text = report(Pages([view], build_tools(view.config).token_texts), args.environments)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, text)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}; name another file with --out") from error
    print(f"{out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0
