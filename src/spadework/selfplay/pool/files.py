"""Pools on disk: ours, and the two formats that the method's authors released theirs in.

Ours is one Parquet file with a row for each ``Environment`` and the SHA-256 of its source. Theirs are Parquet with the
columns ``game_id``, ``file_name``, ``skill``, ``sha256`` and ``code``, or a folder of ``.py`` files with a
``manifest.json``. Plain folders of programs, with or without a ``NAME.toml`` each, are read as well, and so are run
directories: what was accepted there.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spadework.envs.registry import DOMAINS, recognise_text
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.errors import ConfigError
from spadework.runs.records import read_environments
from spadework.runs.store import RunStore
from spadework.selfplay.pool.packaged import packaged_pool
from spadework.types import Environment

COLUMNS = (
    *("id", "source", "hint", "skill", "domain", "document_id", "cycle", "designer_version", "parents", "design_id"),
    "sha256",
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$\n?", re.MULTILINE)
_NAMES = {
    "id": ("game_id", "id", "env_id"),
    "file": ("file_name", "filename", "file", "path"),
    "source": ("code", "source", "program"),
    "skill": ("skill", "category"),
    "sha256": ("sha256", "hash"),
}


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """One row of a pool as it was read. ``problem`` says why it cannot be used."""

    name: str
    environment: Environment
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A pool without its duplicates and broken rows."""

    environments: tuple[Environment, ...]
    duplicates: tuple[tuple[str, str], ...]
    """Name of the row that was left out, and of the one that it repeats."""
    failures: tuple[tuple[str, str], ...]
    """Name and reason."""


def read_pool(path: Path) -> Iterator[PoolEntry]:
    """Every row of a pool, lazily. Raises ``ConfigError`` for what is no pool."""
    named = parse_named(str(path))
    if named is not None:
        yield from (PoolEntry(environment.id, environment) for environment in packaged_pool(named))
    elif (path / "run.sqlite").is_file():
        yield from _run(path)
    elif path.is_dir():
        yield from _folder(path)
    elif path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix == ".py" and path.exists():
        yield _entry(_described(path), _text(path), path.stem)
    elif not path.exists():
        raise ConfigError(f"{path}: there is no such pool")
    else:
        raise ConfigError(f"{path}: a pool is a Parquet file, a folder of programs, or one program")


def import_pool(path: Path) -> Imported:
    """Read a pool, check the sums, take stray fences out, and keep one of every program. Raises ``ConfigError``."""
    kept: dict[str, PoolEntry] = {}
    duplicates: list[tuple[str, str]] = []
    failures: list[tuple[str, str]] = []
    for entry in map(_mended, read_pool(path)):
        key = entry.environment.sha256
        if entry.problem:
            failures.append((entry.name, entry.problem))
        elif key in kept:
            duplicates.append((entry.name, kept[key].name))
        else:
            kept[key] = entry
    return Imported(tuple(entry.environment for entry in kept.values()), tuple(duplicates), tuple(failures))


def load_pool(path: Path) -> tuple[Environment, ...]:
    """The usable environments of a pool, each once. Raises ``ConfigError`` when there is none."""
    environments = import_pool(path).environments
    if not environments:
        raise ConfigError(f"{path}: the pool holds no usable environment; see `spadework pool import {path}`")
    return environments


def write_pool(path: Path, environments: Iterable[Environment]) -> None:
    """Write our format, beside and then into place."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [(name, pa.string()) for name in COLUMNS if name not in ("cycle", "designer_version", "parents")]
    numbers = [("cycle", pa.int64()), ("designer_version", pa.int64()), ("parents", pa.list_(pa.string()))]
    schema = pa.schema([*texts, *numbers])
    rows = [{**{name: getattr(one, name) for name in COLUMNS}, "parents": list(one.parents)} for one in environments]
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), aside, compression="zstd")
    aside.replace(path)


def _run(path: Path) -> Iterator[PoolEntry]:
    """What a run's designer wrote and its checks accepted, in order of design."""
    store = RunStore.read(path)
    try:
        accepted = [environment for environment in read_environments(store) if environment.design_id is not None]
    finally:
        store.close()
    if not accepted:
        raise ConfigError(f"{path}: no design of this run was accepted")
    yield from (PoolEntry(environment.id, environment) for environment in accepted)


def _parquet(path: Path) -> Iterator[PoolEntry]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        columns = set(file.schema_arrow.names)
        source = next((name for name in _NAMES["source"] if name in columns), None)
        if source is None:
            raise ConfigError(f"{path}: no column {' or '.join(_NAMES['source'])}; it has {', '.join(sorted(columns))}")
        index = 0
        for batch in file.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                yield _entry(row, row[source], f"{path.stem}:{index}")
                index += 1
    except (pa.ArrowInvalid, OSError) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from None


def _folder(path: Path) -> Iterator[PoolEntry]:
    manifest = path / "manifest.json"
    shards = sorted(path.glob("*.parquet"))
    if manifest.exists():
        yield from _manifest(path, manifest)
    elif shards:
        for shard in shards:
            yield from _parquet(shard)
    else:
        programs = sorted(path.glob("*.py"))
        if not programs:
            raise ConfigError(f"{path}: holds neither manifest.json, nor Parquet, nor programs")
        for program in programs:
            yield _entry(_described(program), _text(program), program.stem)


def _described(program: Path) -> dict[str, Any]:
    described = program.with_suffix(".toml")
    data: dict[str, Any] = {}
    if described.exists():
        try:
            data = tomllib.loads(described.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{described}: not valid TOML: {error}") from None
    return {**data, "file": program.name}


def _manifest(path: Path, manifest: Path) -> Iterator[PoolEntry]:
    try:
        data = json.loads(manifest.read_text("utf-8"))
    except ValueError as error:
        raise ConfigError(f"{manifest}: not valid JSON: {error}") from None
    named: set[str] = set()
    for index, row in enumerate(_rows(data)):
        file = str(_first(row, "file") or f"{_first(row, 'id')}.py")
        program = path / file
        if program.resolve().parent != path.resolve() and path.resolve() not in program.resolve().parents:
            yield _entry(row, "", file, problem="lies outside of the pool")
        elif program.exists():
            named.add(program.name)
            yield _entry(row, _text(program), f"{path.name}:{index}")
        else:
            yield _entry(row, "", file, problem="the file is missing")
    for program in sorted(path.glob("*.py")):
        if program.name not in named:
            yield _entry({"file": program.name}, _text(program), program.stem)


def _rows(data: Any) -> list[Mapping[str, Any]]:
    """The rows of a manifest: a list, a list under some key, or one object a name."""
    if isinstance(data, list):
        return [row if isinstance(row, Mapping) else {"file": row} for row in data]
    lists = [value for value in data.values() if isinstance(value, list)] if isinstance(data, Mapping) else []
    if lists:
        return _rows(max(lists, key=len))
    rows = data.items() if isinstance(data, Mapping) else ()
    return [
        {"file": name if name.endswith(".py") else f"{name}.py", **row}
        for name, row in rows
        if isinstance(row, Mapping)
    ]


def _first(row: Mapping[str, Any], what: str) -> Any:
    return next((row[name] for name in _NAMES[what] if row.get(name)), None)


def _entry(row: Mapping[str, Any], source: Any, default: str, problem: str | None = None) -> PoolEntry:
    text = source if isinstance(source, str) else ""
    digest = hashlib.sha256(text.encode()).hexdigest()
    claimed = _first(row, "sha256")
    if problem is None and not text.strip():
        problem = "the program is empty"
    elif problem is None and claimed and str(claimed).lower() != digest:
        problem = "the SHA-256 does not match"
    name = str(_first(row, "file") or _first(row, "id") or default)
    ours = "designer_version" in row
    environment = Environment(
        id=str(row["id"]) if ours else digest[:12],
        source=text,
        hint=str(row.get("hint") or ""),
        skill=str(_first(row, "skill") or ""),
        domain=_domain(row.get("domain"), text, ours=ours),
        document_id=str(row.get("document_id") or _first(row, "id") or name),
        cycle=int(row.get("cycle") or 0),
        designer_version=int(row.get("designer_version") or 0),
        parents=tuple(row.get("parents") or ()),
        design_id=row.get("design_id"),
    )
    return PoolEntry(name, environment, problem)


def _mended(entry: PoolEntry) -> PoolEntry:
    source = without_fences(entry.environment.source)
    if source == entry.environment.source:
        return entry
    name = hashlib.sha256(source.encode()).hexdigest()[:12]
    return replace(entry, environment=replace(entry.environment, source=source, id=name))


def without_fences(source: str) -> str:
    """The source without stray Markdown fences, where they keep it from being Python; else as it is."""
    if not _FENCE.search(source):
        return source
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _FENCE.sub("", source)
    return source


def _domain(given: object, source: str, *, ours: bool) -> str:
    """The domain that a row names, if we wrote the row or know the name; else what the text of the program shows.

    Pools of others have columns of that name with another meaning.
    """
    if isinstance(given, str) and (given in DOMAINS.names() or (ours and given)):
        return given
    return recognise_text(source).name


def _text(path: Path) -> str:
    """The file as it is: a translated line end would break its sum."""
    return path.read_bytes().decode("utf-8", errors="replace")
