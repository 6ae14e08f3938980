"""Pools on disk: ours, and the two formats that the method's authors released theirs in.

Ours is one Parquet file with a row for each ``Environment`` and the SHA-256 of its source. Theirs are Parquet with the
columns ``game_id``, ``file_name``, ``skill``, ``sha256`` and ``code``, or a folder of ``.py`` files, in itself or in
``games/``, with a ``manifest.json`` or ``manifest.jsonl`` and perhaps a ``checksums.sha256``. Plain folders of
programs, with or without a ``NAME.toml`` each, are read as well, and so are run directories: what was accepted there.
"""

from __future__ import annotations

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
from spadework.runs.files import write_whole
from spadework.runs.reading import read_environments
from spadework.runs.store import RunStore
from spadework.selfplay.pool.packaged import packaged_pool
from spadework.text import clean, clean_json, decode, parse_python
from spadework.types import Environment

COLUMNS = (
    *("id", "source", "hint", "skill", "domain", "document_id", "cycle", "designer_version", "parents", "design_id"),
    "sha256",
)
FORMAT = 2
"""Of our pools, in the metadata of the Parquet file. Version 0.1 wrote no number; a file without one is of format 1."""
_FORMAT_KEY = "spadework.format"
_MANIFESTS = ("manifest.json", "manifest.jsonl")
GAMES_FOLDER = "games"
"""The folder of programs in a pool of the authors'."""
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
    names: Mapping[str, str]
    """SHA-256 of each environment's source -> the name of its file or row."""


def read_pool(path: Path) -> Iterator[PoolEntry]:
    """Every row of a pool, lazily. Raises ``ConfigError`` for what is no pool."""
    named = parse_named(str(path))
    if named is not None:
        yield from (PoolEntry(environment.id, environment) for environment in packaged_pool(named))
    elif not path.exists():
        raise ConfigError(f"{path}: there is no such file, folder or pool")
    elif (path / "run.sqlite").is_file():
        yield from _run(path)
    elif path.is_dir():
        yield from _folder(path)
    elif path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix == ".py":
        yield _entry(_described(path), path.read_bytes(), path.stem)
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
    environments = tuple(entry.environment for entry in kept.values())
    names = {key: entry.name for key, entry in kept.items()}
    return Imported(environments, tuple(duplicates), tuple(failures), names)


def load_pool(path: Path) -> tuple[Environment, ...]:
    """The usable environments of a pool, each once. Raises ``ConfigError`` when there is none."""
    environments = import_pool(path).environments
    if not environments:
        raise ConfigError(f"{path}: the pool holds no usable environment; see `spadework pool import {path}`")
    return environments


def write_pool(path: Path, environments: Iterable[Environment]) -> None:
    """Write our format, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [(name, pa.string()) for name in COLUMNS if name not in ("cycle", "designer_version", "parents")]
    numbers = [("cycle", pa.int64()), ("designer_version", pa.int64()), ("parents", pa.list_(pa.string()))]
    schema = pa.schema([*texts, *numbers], metadata={_FORMAT_KEY: str(FORMAT)})
    rows = [{**{name: getattr(one, name) for name in COLUMNS}, "parents": list(one.parents)} for one in environments]
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows, schema=schema)
    write_whole(path, lambda aside: pq.write_table(table, aside, compression="zstd"))


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
        _check_format(path, file.schema_arrow.metadata or {})
        columns = set(file.schema_arrow.names)
        source = next((name for name in _NAMES["source"] if name in columns), None)
        if source is None:
            raise ConfigError(f"{path}: no column {' or '.join(_NAMES['source'])}; it has {', '.join(sorted(columns))}")
        index = 0
        for batch in file.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                yield _entry(row, row[source], f"{path.stem}:{index}")
                index += 1
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from None


def _check_format(path: Path, metadata: Mapping[bytes, bytes]) -> None:
    form = metadata.get(_FORMAT_KEY.encode(), b"1").decode()
    if not form.isdigit() or int(form) > FORMAT:
        raise ConfigError(
            f"{path} was written by a newer version of spadework (format {form}, this version knows {FORMAT}): "
            "install that version to read it"
        )


def _folder(path: Path) -> Iterator[PoolEntry]:
    manifest = _manifest_of(path)
    shards = sorted(path.glob("*.parquet"))
    programs = _programs(path)
    if manifest is None and path.name == GAMES_FOLDER and (above := _manifest_of(path.parent)) is not None:
        # The authors' scripts name the folder of programs; what is known of these stands above it.
        yield from _manifest(path.parent, above)
    elif manifest is not None:
        yield from _manifest(path, manifest)
    elif shards:
        for shard in shards:
            yield from _parquet(shard)
    elif programs:
        for program in programs:
            yield _entry(_described(program), program.read_bytes(), program.stem)
    else:
        raise ConfigError(f"{path}: holds neither {' nor '.join(_MANIFESTS)}, nor Parquet, nor programs")


def _manifest_of(path: Path) -> Path | None:
    return next((path / name for name in _MANIFESTS if (path / name).is_file()), None)


def _programs(path: Path) -> list[Path]:
    return [*sorted(path.glob("*.py")), *sorted(path.glob(f"{GAMES_FOLDER}/*.py"))]


def _described(program: Path) -> dict[str, Any]:
    described = program.with_suffix(".toml")
    data: dict[str, Any] = {}
    if described.exists():
        try:
            data = tomllib.loads(decode(described.read_bytes()))
        except ValueError as error:
            raise ConfigError(f"{described}: not valid TOML: {error}") from None
    return {**data, "file": program.name}


def _manifest(path: Path, manifest: Path) -> Iterator[PoolEntry]:
    sums = _sums(path / "checksums.sha256")
    named: set[Path] = set()
    for index, row in enumerate(_rows(_manifest_data(manifest))):
        file = str(_first(row, "file") or f"{_first(row, 'id')}.py")
        program = _program_file(path, file)
        if not program.resolve().is_relative_to(path.resolve()):
            yield _entry(row, "", file, problem="lies outside of the pool")
        elif program.is_file():
            named.add(program)
            yield _entry(_with_sum(row, path, program, sums), program.read_bytes(), f"{path.name}:{index}")
        else:
            yield _entry(row, "", file, problem="the file is missing")
    for program in _programs(path):
        if program not in named:
            row = _with_sum({"file": program.name}, path, program, sums)
            yield _entry(row, program.read_bytes(), program.stem)


def _manifest_data(manifest: Path) -> Any:
    """The manifest as it stands: one JSON value, or a list with one value for each line of a ``.jsonl`` file."""
    text = decode(manifest.read_bytes())
    if manifest.suffix == ".json":
        try:
            return clean_json(json.loads(text))
        except ValueError as error:
            raise ConfigError(f"{manifest}: not valid JSON: {error}") from None
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(clean_json(json.loads(line)))
            except ValueError as error:
                raise ConfigError(f"{manifest}:{number}: not valid JSON: {error}") from None
    return rows


def _program_file(path: Path, file: str) -> Path:
    """Where a program of the manifest is: below the pool, or below its ``games/``."""
    below = path / GAMES_FOLDER / file
    return below if not (path / file).is_file() and below.is_file() else path / file


def _sums(path: Path) -> dict[str, str]:
    """File -> SHA-256, as ``sha256sum`` writes them; nothing without the file."""
    if not path.is_file():
        return {}
    sums = {}
    for line in decode(path.read_bytes()).split("\n"):
        digest, _, file = line.strip().partition(" ")
        sums[file.strip().removeprefix("*").removeprefix("./")] = digest
    return sums


def _with_sum(row: Mapping[str, Any], path: Path, program: Path, sums: Mapping[str, str]) -> Mapping[str, Any]:
    """The row with the sum that the pool's list of sums gives, where the row has none of its own."""
    if _first(row, "sha256"):
        return row
    return {**row, "sha256": sums.get(program.relative_to(path).as_posix())}


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
    text, raw, unreadable = _program(source)
    digest = hashlib.sha256(text.encode()).hexdigest()
    claimed = _first(row, "sha256")
    numbers = {key: _whole_number(row.get(key)) for key in ("cycle", "designer_version")}
    wrong = [key for key, number in numbers.items() if number is None]
    if problem is None:
        if unreadable:
            problem = unreadable
        elif not text.strip():
            problem = "the program is empty"
        elif claimed and str(claimed).lower() not in (digest, hashlib.sha256(raw).hexdigest()):
            problem = "the SHA-256 does not match"
        elif wrong:
            problem = f"{wrong[0]} is {row[wrong[0]]!r}, not a whole number"
    name = str(_first(row, "file") or _first(row, "id") or default)
    ours = "designer_version" in row and bool(row.get("id"))
    environment = Environment(
        id=str(row["id"]) if ours else digest[:12],
        source=text,
        hint=clean(str(row.get("hint") or "")),
        skill=clean(str(_first(row, "skill") or "")),
        domain=_domain(row.get("domain"), text, ours=ours),
        document_id=str(row.get("document_id") or _first(row, "id") or name),
        cycle=numbers["cycle"] or 0,
        designer_version=numbers["designer_version"] or 0,
        parents=tuple(map(str, parents)) if isinstance(parents := row.get("parents"), list | tuple) else (),
        design_id=_text_or_none(row.get("design_id")),
    )
    return PoolEntry(name, environment, problem)


def _program(source: Any) -> tuple[str, bytes, str | None]:
    """A program's text, its bytes as they were (a translated line end would break a sum), and why it cannot be read."""
    if isinstance(source, bytes):
        try:
            return decode(source), source, None
        except ValueError as error:
            return "", source, f"the program is {error}"
    if isinstance(source, str):
        return clean(source), source.encode("utf-8", "surrogatepass"), None
    return "", b"", None


def _whole_number(value: Any) -> int | None:
    """The number; 0 for a missing one, which pandas writes as NaN; ``None`` for what is none."""
    if value is None or value == "" or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return 0
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


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
        parse_python(source)
    except SyntaxError:
        return _FENCE.sub("", source)
    return source


def _domain(given: object, source: str, *, ours: bool) -> str:
    """The domain that a row names, if we wrote the row or know the name; else what the text of the program shows.

    Pools of others have columns of that name with another meaning.
    """
    if isinstance(given, str) and (given in DOMAINS.names() or (ours and given)):
        return given
    return recognise_text(source).name
