"""``spadework configs``: list the configs that come with the package, and print one as TOML that ``train`` takes."""

from __future__ import annotations

import argparse

from spadework.config.descriptions import descriptions
from spadework.config.differences import unlike_defaults
from spadework.config.files import dump_config, load_config, shipped_configs
from spadework.config.toml import toml_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="the shipped configs by name")
    showing = actions.add_parser("show", help="a config with everything that it extends resolved")
    showing.add_argument("config", metavar="NAME", help="a TOML file, or the name of a shipped config")
    showing.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")
    showing.add_argument("--diff", action="store_true", help="print only what differs from the defaults")
    showing.add_argument("--explain", action="store_true", help="say above each setting what it means")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.action == "list":
        print("\n".join(f"{name}: {_summary(path.read_text('utf-8'))}" for name, path in shipped_configs().items()))
        return 0
    config = load_config(args.config, args.set)
    data = unlike_defaults(config) if args.diff else dump_config(config)
    print(toml_text(data, descriptions() if args.explain else None), end="")
    return 0


def _summary(text: str) -> str:
    """The first sentence of the comment that a file begins with."""
    words: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        words += line.removeprefix("#").split()
        if words and words[-1].endswith("."):
            break
    sentence, stop, _ = " ".join(words).partition(". ")
    return sentence + stop.rstrip()
