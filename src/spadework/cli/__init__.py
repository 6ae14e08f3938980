"""The command line: one verb a file, imported only when it is called, so that ``--help`` answers at once."""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from spadework import __version__
from spadework.cli.failures import one_line
from spadework.errors import ConfigWarning

COMMANDS = {
    "train": ("train", "run self-play training from a config"),
    "configs": ("configs", "list the shipped configs, or print a config with what each setting means"),
    "prompts": ("prompts", "list the prompts of a config with their variables, and print them"),
    "corpus": ("corpus", "make grounding documents from what is installed"),
    "new": ("environments.new", "write an environment program that passes the check, to start from"),
    "check": ("environments.check", "find the faults of environment programs"),
    "pool": ("environments.pool", "import pools of environments and show what they hold"),
    "design": ("environments.design", "write a pool of environments offline, with the designer's stage alone"),
    "play": ("environments.play", "play environments in both arms, with a model or yourself"),
    "rank": ("environments.rank", "rank environments or prompts by what a hint adds for a model; trains nothing"),
    "study": ("study", "compare arms over seeds on measures chosen beforehand, and report what held"),
    "view": ("runs.view", "open a local page over runs, live while they train"),
    "report": ("runs.report", "write a run's page into one HTML file"),
    "plot": ("runs.plot", "draw the paper's figures for runs, as PNG and SVG, and write their numbers as CSV"),
    "eval": ("evals.eval", "score a checkpoint, a model or an endpoint on benchmark suites and held-out environments"),
    "runs": ("runs.show", "list run directories, or show what is in one"),
    "replay": ("runs.replay", "re-execute episodes of a run and compare them byte for byte"),
    "rescore": ("runs.rescore", "recompute rewards and advantages of a run and show what moved"),
    "export": ("runs.export", "write what a run made to a file, or its environments as another framework's package"),
    "scale-model": ("scale_model", "make the weights of the scale model anew, or a hand-set pool of its kind"),
    "doctor": ("doctor", "show which layers of the sandbox hold on this machine"),
}
"""Verb -> its module in this package, and its help line. A module has ``add_arguments(parser)`` and ``run(args)``."""


def collect_seldom() -> None:
    """Look for garbage after 10,000 new objects, not 700.

    A run keeps most of what it makes, so a tenth of the host's time in collecting episodes went into looking in vain.
    """
    gc.set_threshold(10_000, 10, 10)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, run the verb, and turn an expected error into one paragraph and exit status 2."""
    collect_seldom()
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        args = _parse(argv)  # imports what the verb needs, which takes a second or two
    except KeyboardInterrupt:
        return 130
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConfigWarning)
        warnings.showwarning = _warning_printer()
        try:
            return int(importlib.import_module(f"{__name__}.{COMMANDS[args.verb][0]}").run(args))
        except BrokenPipeError:
            return 0
        except KeyboardInterrupt:
            return 130
        except Exception as error:
            told = one_line(error)
            if told is None:
                raise
            print(f"spadework {args.verb}: {told}", file=sys.stderr)
            return 2


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="spadework",
        description="A language model that writes its own training environments and learns by playing them.",
    )
    parser.add_argument("--version", action="version", version=f"spadework {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    wanted = next((word for word in argv if not word.startswith("-")), None)
    if wanted is not None and wanted not in COMMANDS:
        near = difflib.get_close_matches(wanted, COMMANDS, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(COMMANDS)}"
        parser.error(f"there is no verb {wanted!r}{meant}")
    for verb, (module, summary) in COMMANDS.items():
        sub = verbs.add_parser(verb, help=summary, description=summary)
        if verb == wanted:
            importlib.import_module(f"{__name__}.{module}").add_arguments(sub)
    return parser.parse_args(argv)


def _warning_printer() -> Callable[..., None]:
    """Prints each ``ConfigWarning`` once, as one line; other warnings as Python does."""
    usual, printed = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ConfigWarning):
            usual(message, category, *place, **more)
        elif str(message) not in printed:
            printed.add(str(message))
            print(f"spadework: {message}", file=sys.stderr)

    return show
