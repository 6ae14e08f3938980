"""A study file names arms, seeds, measures and hypotheses before the first run."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, model_validator

from spadework.config import RunConfig, Section
from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.resources import shipped
from spadework.text import decode

OWN_KEYS = ("run.seed", "run.cycles", "pool.source")
"""Settings that the study sets. An arm may never set the first two, nor the third where it draws from a pool."""


class PoolStep(Section):
    """A pool that the start model designs before the runs, as ``spadework design`` does."""

    n: int = Field(ge=1)
    """The number of environments in it."""
    set: tuple[str, ...] = ()
    """Overrides of the study's config, for the design of the pool."""
    seed: int | None = None
    """The seed of one pool for all runs. Where it is unset, each seed of the study has a pool of its own."""


class StudyArm(Section):
    """One of the variants that a study compares."""

    label: str = ""
    """The arm's name in tables and plots; the key of its table when empty."""
    config: str | None = None
    """A config that replaces the study's."""
    set: tuple[str, ...] = ()
    """Overrides, ``section.key=value``."""
    pool: str | None = None
    """The prepared pool that its runs draw from (``pool.source``)."""


class HeldOutSettings(Section):
    """The environments that every arm is measured on, with the same seeds and play settings."""

    pool: str
    """A prepared pool with a ``seed`` of its own, ``examples`` for the bundled ones, ``hand-set`` for what the scale
    model's lessons write by rule, or a path relative to the file."""
    lengths: tuple[int, ...] = ()
    """The sizes of hand-set environments: there is one environment of every family and length."""
    environments: tuple[str, ...] = ()
    """The ids, or the names of bundled examples, that are played; all when empty."""
    episodes: int = Field(700, ge=1)
    """The least number of unhinted episodes, spread evenly; 700 keep the standard error of a win rate below .02."""
    hinted_episodes: int = Field(0, ge=0)
    every: int = Field(0, ge=0)
    """Cycles between evaluations; with 0 there is one at the start and one at the end."""
    seed: int = 1_000_003
    """The seed of the episodes."""
    max_error: float = Field(0.02, gt=0)
    """The largest standard error of a run's win rate that the report accepts."""


class Measure(Section):
    """One number of a run, read from one of its series."""

    label: str
    series: str
    """A metric of docs/metrics.md, or one of docs/study.md."""
    last: int = Field(1, ge=1)
    """How many of the last values the number is the mean of."""
    since_start: bool = False
    """Whether the mean of as many first values is taken off."""
    range: tuple[float, float] | None = None
    """The lowest and highest possible value of the series, within which intervals are kept. Where it is unset, it
    follows from the series' name (docs/study.md)."""

    @model_validator(mode="after")
    def _check(self) -> Measure:
        if self.range is not None and self.range[0] >= self.range[1]:
            raise ValueError("range: the lowest possible value comes first, then the highest")
        return self


class Hypothesis(Section):
    """A claim that the report decides."""

    claim: str
    measure: str
    arm: str
    than: tuple[str, ...] | Literal["start"] = ()
    """The arms that it is compared with, each of them; ``start`` for its own first values; empty for the bar alone."""
    by: Literal["difference", "ratio"] = "difference"
    bar: float = 0.0
    """The number that the difference or ratio has to lie beyond."""
    side: Literal["above", "below"] = "above"


class Quick(Section):
    """The settings that ``--quick`` changes."""

    seeds: tuple[int, ...]
    cycles: int = Field(ge=1)
    episodes: int | None = None
    """Held-out episodes."""
    every: int | None = None
    set: tuple[str, ...] = ()


class Study(Section):
    """A whole study file."""

    title: str
    question: str = ""
    config: str
    """A config file relative to the study's, or the name of a shipped one."""
    seeds: tuple[int, ...] = Field(min_length=1)
    tuned_on: tuple[int, ...] = ()
    """Seeds on which settings were chosen; none of them may be a seed of the study."""
    cycles: int = Field(ge=1)
    set: tuple[str, ...] = ()
    """Overrides that every arm takes."""
    alpha: float = Field(0.05, gt=0, lt=0.5)
    """The level of the one-sided tests, over all hypotheses together."""
    pools: Mapping[str, PoolStep] = {}
    arms: Mapping[str, StudyArm] = Field(min_length=1)
    heldout: HeldOutSettings | None = None
    measures: Mapping[str, Measure] = Field(min_length=1)
    hypotheses: tuple[Hypothesis, ...] = ()
    quick: Quick | None = None

    @model_validator(mode="after")
    def _check(self) -> Study:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        seeds = [*self.seeds, *(self.quick.seeds if self.quick else ())]
        if len(set(self.seeds)) < len(self.seeds):
            yield "seeds: one is named twice"
        if set(self.tuned_on) & set(self.seeds):
            yield f"seeds: settings were tuned on {sorted(set(self.tuned_on) & set(self.seeds))}"
        if any(seed < 0 for seed in seeds):
            yield "seeds: below 0"
        for name in (*self.arms, *self.pools):
            if not name.replace("-", "").replace("_", "").isalnum() or (name in self.arms and name in self.pools):
                yield f"{name!r}: names of arms and pools are letters, digits, - and _, each used once"
        for name, arm in self.arms.items():
            if arm.pool is not None and arm.pool not in self.pools:
                yield f"arms.{name}.pool: no pool is named {arm.pool!r}"
        given: list[Any] = [self, *self.arms.values(), *self.pools.values(), *([self.quick] if self.quick else [])]
        for override in (text for part in given for text in part.set):
            if override.partition("=")[0].strip() in OWN_KEYS[:2]:
                yield f"set {override!r}: the study gives seeds and cycles itself"
        yield from self._unknown_names()

    def _unknown_names(self) -> Iterator[str]:
        for claim in self.hypotheses:
            if claim.measure not in self.measures:
                yield f"hypothesis {claim.claim!r}: no measure is named {claim.measure!r}"
            others = claim.than if isinstance(claim.than, tuple) else ()
            for name in (claim.arm, *others):
                if name not in self.arms:
                    yield f"hypothesis {claim.claim!r}: no arm is named {name!r}"
            if claim.by == "ratio" and not claim.than:
                yield f"hypothesis {claim.claim!r}: a ratio needs `than`"
        if self.heldout and (self.heldout.pool == "hand-set") != bool(self.heldout.lengths):
            yield 'heldout.lengths: needed by pool = "hand-set", and by no other'
        prepared = self.pools.get(self.heldout.pool) if self.heldout else None
        if prepared and prepared.seed is None:
            yield f"heldout.pool: {self.heldout.pool!r} differs from seed to seed; give it a seed"  # type: ignore[union-attr]

    def quickly(self) -> Study:
        """The study with its quick section applied. Raises ``ConfigError`` where there is none."""
        if self.quick is None:
            raise ConfigError("--quick: this study has no [quick] section")
        quick = self.quick
        parts: dict[str, Any] = {"seeds": quick.seeds, "cycles": quick.cycles, "set": (*self.set, *quick.set)}
        if self.heldout is not None:
            asked = {"episodes": quick.episodes, "every": quick.every}
            changed = {name: value for name, value in asked.items() if value is not None}
            parts["heldout"] = self.heldout.model_copy(update=changed)
        return self.model_copy(update=parts)

    def label(self, arm: str) -> str:
        """The name of an arm in tables."""
        return self.arms[arm].label or arm

    def evaluations(self) -> list[int]:
        """Updates after which the held-out set is played, the start (0) among them."""
        if self.heldout is None:
            return []
        between = range(self.heldout.every, self.cycles, self.heldout.every) if self.heldout.every else ()
        return [0, *between, self.cycles]


def find_study(name: str) -> Path:
    """Find a file, or the shipped study of that name. Raises ``ConfigError``."""
    path, folder = Path(name), shipped("studies")
    for candidate in (path, folder / name, folder / f"{name}.toml"):
        if candidate.is_file():
            return candidate
    known = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
    raise ConfigError(f"{name}: no such study file, and no shipped study of that name ({known})")


def load_study(path: Path) -> Study:
    """Read a study file. Raises ``ConfigError`` that names the key and its mistake."""
    try:
        data = tomllib.loads(decode(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {error}") from None
    try:
        return Study.model_validate(_tuples(data))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(path, problem) for problem in error.errors())) from None


def resolve(study: Study, file: Path, arm: str | None, seed: int, source: str | None = None) -> RunConfig:
    """The config of one run. Without an ``arm`` it is that of the study's own settings alone.

    ``source`` is the path of the arm's prepared pool. Raises ``ConfigError``.
    """
    own = study.arms[arm] if arm is not None else StudyArm()
    overrides = ["model.threads=1", *study.set, *own.set, f"run.seed={seed}", f"run.cycles={study.cycles}"]
    overrides.append("run.checkpoint_minutes=0")  # held-out environments are played at checkpoints of given cycles
    if own.pool is not None and source is not None:
        overrides.append(f"pool.source={source}")
    try:
        config = load_config(config_path(own.config or study.config, file), overrides)
    except ConfigError as error:
        raise ConfigError(f"arm {arm}: {error}" if arm else str(error)) from None
    _check_checkpoints(study, config)
    return config


def config_path(name: str, file: Path) -> str:
    """The argument of ``load_config`` for a config: a file beside the study's, or the name of a shipped one."""
    beside = file.parent / name
    return str(beside) if beside.is_file() else name


def _check_checkpoints(study: Study, config: RunConfig) -> None:
    every = config.run.checkpoint_every
    missed = [at for at in study.evaluations() if at % every and at != study.cycles]
    if missed:
        raise ConfigError(
            f"held-out environments are played after {missed[0]} cycles, but run.checkpoint_every is {every}: "
            "make heldout.every a multiple of it"
        )


def _explain(path: Path, problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), _keys(Study), n=1)
        message = "no such key" + (f"; the nearest valid one is {near[0]}" if near else "")
    return f"{path}: {where}: {message}" if where else f"{path}: {message}"


def _keys(section: type[Section]) -> list[str]:
    found = list(section.model_fields)
    for info in section.model_fields.values():
        for part in (info.annotation, *get_args(info.annotation)):
            if isinstance(part, type) and issubclass(part, Section):
                found += _keys(part)
    return found


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_tuples(item) for item in value)
    return value
