"""``spadework new``: write an environment program that passes the check, as a start for one of your own."""

from __future__ import annotations

import argparse
import keyword
import re
from pathlib import Path

from spadework.errors import ConfigError
from spadework.resources import shipped

_KINDS = (
    ("game", "a text game whose answers stand in a box"),
    ("tools", "a world whose tools change a state"),
    ("database", "a world whose tools change an SQLite database"),
)
TEMPLATES = dict(_KINDS)
"""The kinds of program; each is a file of that name in ``examples/templates``."""
_TEMPLATE_CLASS = "NewEnv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    kinds = "; ".join(f"{name}: {summary}" for name, summary in TEMPLATES.items())
    parser.add_argument("kind", choices=list(TEMPLATES), metavar="KIND", help=kinds)
    parser.add_argument("name", metavar="NAME", help="name of the environment, for example halving or `order desk`")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write (default: NAME.py)")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    words = re.findall(r"[A-Za-z0-9]+", args.name.removesuffix(".py"))
    out: Path = args.out or Path("_".join(words).lower() + ".py")
    program = new_program(args.kind, words)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(program)
    except FileExistsError:
        raise ConfigError(
            f"{out}: there is such a file already; give another name, or another place with --out"
        ) from None
    print(f"{out}: {TEMPLATES[args.kind]}\nTry it:  spadework check {out}\n         spadework play {out} --human")
    return 0


def new_program(kind: str, words: list[str]) -> str:
    """The source of a program of a kind whose class is named after ``words``. Raises ``ConfigError`` for a bad name."""
    class_name = "".join(word[0].upper() + word[1:] for word in words).removesuffix("Env") + "Env"
    if class_name == "Env" or not class_name.isidentifier() or keyword.iskeyword(class_name):
        raise ConfigError(f"{' '.join(words)!r} is no name for an environment; begin with a letter, as in `halving`")
    source = (shipped("examples") / "templates" / f"{kind}.py").read_text("utf-8")
    return source.replace(f"class {_TEMPLATE_CLASS}", f"class {class_name}")
