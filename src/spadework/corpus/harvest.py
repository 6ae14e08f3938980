"""Make grounding documents from the docstrings of installed packages and from the user's text files.

Docstrings are parsed from source by ``ast``, without importing or running anything. Every document records its source
and licence.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sysconfig
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from spadework.errors import ConfigError
from spadework.text import clean, decode, parse_python, word_ends
from spadework.types import Document

MIN_WORDS = 40
"""Shorter texts are dropped: they hold too little to build an environment on."""
MAX_WORDS = 1_000
"""Longer texts are split at headings, or else at this length."""
TEXT_SUFFIXES = {".md", ".rst", ".txt"}
_TESTS = re.compile(r"(^|/)(tests?|testing|_vendor|vendor|externals|benchmarks?|idlelib|lib2to3|site-packages)(/|$)")
_HEADING = re.compile(r"\n(?=#{1,4} )|\n(?=[^\n]{3,90}\n[=\-~^]{3,}\n)")


def standard_library() -> Iterator[Document]:
    """Documents of Python's own modules."""
    root = Path(sysconfig.get_paths()["stdlib"])
    yield from _docstrings(root, "python", "PSF-2.0")


def package(name: str) -> Iterator[Document]:
    """Documents of an installed package. Raises ``ConfigError`` when it is not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"--package {name}: no package of that name is installed here")
    root = Path(next(iter(spec.submodule_search_locations)))
    yield from _docstrings(root, name, _licence(name))


def text_files(path: Path, licence: str) -> Iterator[Document]:
    """Documents of a text or Python file, or of every one below a folder."""
    if not path.exists():
        raise ConfigError(f"--path {path} does not exist")
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    base = path if path.is_dir() else path.parent
    for file in files:
        if file.suffix == ".py":
            yield from _file_docstrings(file, base, path.name, licence)
        elif file.suffix in TEXT_SUFFIXES:
            try:
                text = decode(file.read_bytes())
            except ValueError as error:
                raise ConfigError(f"{file}: {error}; save it as UTF-8, or take it out of the folder") from None
            for number, part in enumerate(split_text(text)):
                title = re.sub(r"^[#\s]+", "", part.split("\n", 1)[0])[:80] or file.stem
                yield _document(f"{path.name}:{file.relative_to(base)}#{number}", title, part, path.name, licence)


def split_text(text: str) -> list[str]:
    """Split a text at sections into parts of ``MIN_WORDS`` to ``MAX_WORDS`` words; a short rest is dropped."""
    parts: list[str] = []
    pending = ""
    for section in _HEADING.split(text):
        ends = [0, *word_ends(section)]
        if len(ends) > MAX_WORDS + 1:
            cuts = [*ends[:-1:MAX_WORDS], ends[-1]]
            parts += [section[start:end].strip() for start, end in pairwise(cuts)]
            continue
        pending = f"{pending}\n\n{section.strip()}" if pending else section.strip()
        if _count(pending) >= 3 * MIN_WORDS:
            parts.append(pending)
            pending = ""
    parts.append(pending)
    return [part for part in parts if _count(part) >= MIN_WORDS]


def _count(text: str) -> int:
    return sum(1 for _ in word_ends(text))


def _docstrings(root: Path, source: str, licence: str) -> Iterator[Document]:
    for file in sorted(root.rglob("*.py")):
        if not _TESTS.search(str(file.relative_to(root).parent)):
            yield from _file_docstrings(file, root, source, licence)


def _file_docstrings(file: Path, root: Path, source: str, licence: str) -> Iterator[Document]:
    try:
        tree = parse_python(file.read_bytes())
    except SyntaxError:
        return
    module = ".".join(file.relative_to(root).with_suffix("").parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text and _count(text) >= MIN_WORDS:
                name = getattr(node, "name", "")
                title = " ".join(re.findall(r"[A-Za-z]+", name or module.rpartition(".")[2]))
                yield _document(f"{source}:{module}.{name}".rstrip("."), title, text, source, licence)


def _document(name: str, title: str, text: str, source: str, licence: str) -> Document:
    return Document(name, clean(text), {"title": title, "source": source, "licence": licence})


def _licence(name: str) -> str:
    names = importlib.metadata.packages_distributions().get(name, [name])
    try:
        details = importlib.metadata.metadata(names[0]).json
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
    classified = [line.rpartition(":: ")[2] for line in details.get("classifier", ()) if line.startswith("License ::")]
    stated = details.get("license_expression") or next(iter(classified), None) or details.get("license") or "unknown"
    return str(stated).splitlines()[0]
