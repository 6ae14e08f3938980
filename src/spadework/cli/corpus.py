"""``spadework corpus``: make grounding documents from what is installed, or look at a corpus."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from spadework.corpus import harvest
from spadework.corpus.documents import Corpus
from spadework.errors import ConfigError
from spadework.resources import cache_dir
from spadework.runs.files import write_whole
from spadework.types import Document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = verbs.add_parser("build", help="write a corpus from docstrings and text files")
    build.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSONL file to write")
    build.add_argument("--stdlib", action="store_true", help="take the standard library's docstrings")
    build.add_argument("--package", action="append", default=[], metavar="NAME", help="take an installed package's")
    build.add_argument("--path", action="append", default=[], type=Path, help="take a text file or a folder of them")
    build.add_argument("--licence", default="unknown", help="licence of what --path names")
    show = verbs.add_parser("show", help="count documents, words, sources and broken lines")
    show.add_argument("file", type=Path)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    return _build(args) if args.action == "build" else _show(args.file)


def _build(args: argparse.Namespace) -> int:
    if not (args.stdlib or args.package or args.path):
        raise ConfigError("nothing to read: give --stdlib, --package NAME or --path FILE")
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[str] = set()

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8") as file:
            for document in _sources(args):
                if document.text not in seen:
                    seen.add(document.text)
                    counts[document.meta["source"], document.meta["licence"]] += 1
                    row = {"id": document.id, **document.meta, "text": document.text}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")

    write_whole(args.out, write)
    for (source, licence), count in sorted(counts.items()):
        print(f"{count:7d}  {source}  ({licence})")
    print(f"{sum(counts.values()):7d}  documents in {args.out}")
    return 0


def _sources(args: argparse.Namespace) -> Iterator[Document]:
    if args.stdlib:
        yield from harvest.standard_library()
    for name in args.package:
        yield from harvest.package(name)
    for path in args.path:
        yield from harvest.text_files(path, args.licence)


def _show(path: Path) -> int:
    corpus = Corpus(path, cache_dir() / "corpus")
    lengths = sorted(len(corpus[i].text.split()) for i in range(len(corpus)))
    print(f"{len(corpus)} documents, {corpus.broken} broken lines left out")
    print(f"words: {lengths[0]} to {lengths[-1]}, median {lengths[len(lengths) // 2]}")
    return 0
