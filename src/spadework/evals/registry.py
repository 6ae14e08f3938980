"""The registry of suites: their names, presets and options, and how one is opened."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError
from spadework.evals.benchmark import Benchmark
from spadework.policies.base import Policy, SamplingParams

SUITES = {
    "reasoning-gym": "100 hard Reasoning-Gym tasks in four categories",
    "aime2025": "AIME 2025, mean of 32 tries",
    "aime2026": "AIME 2026, mean of 32 tries",
    "gpqa": "GPQA-Diamond, two passes with shuffled choices",
    "bfcl": "BFCL v4 multi-turn, four categories, by the official checker",
    "tau2": "tau2-bench: retail, airline, telecom, with a simulated user",
    "livecodebench": "LiveCodeBench v6, programs run in the sandbox",
    "acebench": "ACEBench-Agent: multi-step and multi-turn, end-to-end accuracy",
}
"""Name -> help line. A suite's module is ``evals/suites/NAME.py``; suites of different years share one."""
_MODULES = {"aime2025": "aime", "aime2026": "aime"}


@dataclass(frozen=True, slots=True)
class Preset:
    """A published protocol of a suite: sampling, number of tries, and what else it fixes."""

    sampling: SamplingParams
    trials: int = 1
    """Number of tries at each problem."""
    extra: Mapping[str, int | float | str] = field(default_factory=dict)
    """Further settings of the protocol, such as turns and seeds."""


@dataclass(frozen=True, slots=True)
class SuiteInfo:
    """A description of a suite that is available without loading anything heavy."""

    summary: str
    presets: Mapping[str, Preset]
    data_help: str
    """Where the data comes from and which format it has; shown by ``--data-help``."""
    needs_data: bool = False
    """Whether the suite cannot run without ``--data``."""


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """Options with which a suite is opened."""

    preset: str = "paper"
    data: Path | None = None
    sampling: Mapping[str, float | int] = field(default_factory=dict)
    """Sampling parameters that replace those of the preset, by field."""
    trials: int | None = None
    sandbox: Sandbox | None = None
    """The sandbox that runs programs written by the model."""
    user: Policy | None = None
    """The model that plays the simulated user, or acts as judge."""
    user_name: str = ""
    """The name of the user's model, which becomes part of the setting because the score depends on it."""
    seed: int = 0


def suite_module(name: str) -> Any:
    """The module of a suite. Raises ``ConfigError`` for an unknown name."""
    if name not in SUITES:
        raise ConfigError(f"there is no suite {name!r}; the suites are {', '.join(SUITES)}")
    return importlib.import_module(f"spadework.evals.suites.{_MODULES.get(name, name).replace('-', '_')}")


def suite_info(name: str) -> SuiteInfo:
    """The description of a suite. Raises ``ConfigError`` for an unknown name."""
    info: SuiteInfo = suite_module(name).INFO
    return info


def open_suite(name: str, options: SuiteOptions) -> Benchmark:
    """Open a suite, ready to run. Raises ``ConfigError`` for missing data or packages, or an unknown preset."""
    module = suite_module(name)
    info: SuiteInfo = module.INFO
    if options.preset not in info.presets:
        raise ConfigError(f"{name}: there is no preset {options.preset!r}; the presets are {', '.join(info.presets)}")
    if info.needs_data and options.data is None:
        raise ConfigError(f"{name}: its data is not shipped; see `spadework eval --data-help {name}`, then --data FILE")
    benchmark: Benchmark = module.make(name, options)
    return benchmark


def chosen_preset(info: SuiteInfo, options: SuiteOptions) -> Preset:
    """The chosen preset with the options' changes. Raises ``ConfigError`` for an unknown sampling parameter."""
    preset = info.presets[options.preset]
    unknown = set(options.sampling) - set(asdict(preset.sampling))
    if unknown:
        raise ConfigError(
            f"--sampling: there is no parameter {sorted(unknown)[0]!r}; there are {', '.join(asdict(preset.sampling))}"
        )
    sampling = replace(preset.sampling, **options.sampling)  # type: ignore[arg-type]
    return replace(preset, sampling=sampling, trials=options.trials or preset.trials)


def sampling_settings(preset: Preset) -> dict[str, Any]:
    """Sampling parameters, tries and further settings of a preset, as a ``Setting`` records them."""
    sampling = {key: value for key, value in asdict(preset.sampling).items() if value not in ((), None)}
    return {**sampling, "trials": preset.trials, **preset.extra}


def versions(*packages: str) -> dict[str, str]:
    """The versions of this package and of those ``packages`` that are installed."""
    return {name: importlib.metadata.version(name) for name in ("spadework", *packages) if _installed(name)}


def needs(module: str, install: str) -> None:
    """Raise ``ConfigError`` that says what to install when ``module`` is missing."""
    if importlib.util.find_spec(module) is None:
        raise ConfigError(f"this suite needs the package {module}: {install}")


def data_fingerprint(path: Path) -> str:
    """Name and SHA-256 of a user's file, as a ``Setting`` records them. Raises ``ConfigError`` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return f"{path.name} sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
