"""Grounding documents: a JSONL corpus of any size behind an index on disk (method section 3).

The index is a memory-mapped array of line offsets, built once per file and kept in the user's cache. So fifteen million
documents take no memory, and drawing one reads one line. Broken lines are counted and reported, and are never fatal.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np

from spadework.errors import ConfigError
from spadework.text import clean_json, decode, first_words
from spadework.types import Document

TEXT_KEYS = ("text", "orig_doc")


class Corpus:
    """Documents of a JSONL file, drawn uniformly.

    Args:
        path: a file with one JSON object per line, whose text is under ``text`` or ``orig_doc``.
        cache: the folder for the index.
        max_words: how many words of a document are kept; see ``text.word_ends``.

    Raises:
        ConfigError: the file does not exist, or holds no readable document.
    """

    def __init__(self, path: Path, cache: Path, max_words: int = 6_000) -> None:
        if not path.is_file():
            raise ConfigError(f"corpus.path: {path} does not exist; give a JSONL file with a `text` on each line")
        self.path, self.max_words = path, max_words
        self._offsets, self.broken = _load_index(path, cache)
        if not len(self._offsets):
            raise ConfigError(
                f"corpus.path: {path} holds no readable document ({self.broken} broken lines); "
                f"each line is a JSON object with its text under `text` or `orig_doc`"
            )

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: int) -> Document:
        with self.path.open("rb") as file:
            file.seek(int(self._offsets[index]))
            line = file.readline()
        document = parse_line(line, str(index))
        if document is None:
            raise ConfigError(f"{self.path}: changed while it was in use; start again to index it anew")
        return Document(document.id, first_words(document.text, self.max_words), document.meta)

    def sample(self, seed: int) -> Document:
        """Draw a document with ``seed``."""
        return self[random.Random(seed).randrange(len(self))]


def parse_line(line: bytes, fallback_id: str) -> Document | None:
    """Parse one line into a document; ``None`` when the line is broken or has no text."""
    try:
        row: Any = clean_json(json.loads(decode(line)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    text = next((row[key] for key in TEXT_KEYS if isinstance(row.get(key), str) and row[key].strip()), None)
    if text is None:
        return None
    meta = {key: value for key, value in row.items() if key not in (*TEXT_KEYS, "id")}
    return Document(str(row.get("id", fallback_id)), text, meta)


def _load_index(path: Path, cache: Path) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int]:
    """The memory-mapped offsets of the readable lines, and the number of broken lines."""
    stat = path.stat()
    name = hashlib.sha256(f"{path.resolve()}/{stat.st_size}/{stat.st_mtime_ns}".encode()).hexdigest()[:24]
    cache.mkdir(parents=True, exist_ok=True)
    index, report = cache / f"{name}.npy", cache / f"{name}.json"
    if not (index.exists() and report.exists()):
        broken = _build_index(path, index)
        _replace(report, lambda temporary: temporary.write_text(json.dumps({"broken": broken})))
    return np.load(index, mmap_mode="r"), int(json.loads(report.read_text())["broken"])


def _build_index(path: Path, index: Path) -> int:
    """Write the offsets in chunks, so that memory stays flat; returns the number of broken lines."""
    raw = index.with_suffix(f".{os.getpid()}.raw")
    broken = position = count = 0
    with path.open("rb") as lines, raw.open("wb") as out:
        chunk: list[int] = []
        for line in lines:
            if line.strip():
                if parse_line(line, "") is None:
                    broken += 1
                else:
                    chunk.append(position)
            position += len(line)
            if len(chunk) >= 65_536:
                count += len(chunk)
                np.asarray(chunk, dtype=np.int64).tofile(out)
                chunk.clear()
        count += len(chunk)
        np.asarray(chunk, dtype=np.int64).tofile(out)

    def write(temporary: Path) -> None:
        target = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.int64, shape=(count,))
        if count:
            target[:] = np.memmap(raw, dtype=np.int64, mode="r")
        target.flush()

    _replace(index, write)
    raw.unlink()
    return broken


def _replace(target: Path, write: Any) -> None:
    temporary = target.with_suffix(f".{os.getpid()}{target.suffix}")
    write(temporary)
    temporary.replace(target)
