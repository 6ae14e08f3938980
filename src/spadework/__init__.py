"""SPADE: self-play in adaptive synthetic executable environments (arXiv 2608.19197).

    import spadework

    run = spadework.train("scripted", "runs/first")
    episodes = spadework.play("environment.py", my_agent)

What stands in ``__all__`` is the public API (docs/python.md). It is loaded at the first use of a name, so that
``import spadework`` is quick. Functions called ``NAME_async`` are awaited on your own event loop; their twins ``NAME``
wait, and may be called from a script or a notebook.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spadework.api.inputs import ConfigSource, EnvironmentSource, load_pool, read_config
    from spadework.api.opening import AgentSource, open_sandbox
    from spadework.api.playing import (
        check,
        check_async,
        open_episode,
        open_session,
        play,
        play_async,
        rank,
        rank_async,
    )
    from spadework.api.stored import StoredRun, open_run
    from spadework.api.training import collect, collect_async, design, design_async, train, train_async
    from spadework.config import RunConfig
    from spadework.envs.check.findings import Finding
    from spadework.envs.check.program import Checked
    from spadework.envs.sandbox.base import Limits, Sandbox, Session, Step, SyncSession
    from spadework.episode import LiveEpisode, SyncEpisode
    from spadework.errors import (
        ConfigError,
        FaultError,
        GraderError,
        PolicyError,
        ProgramError,
        RunError,
        SandboxError,
        SpadeworkError,
    )
    from spadework.observer import NullObserver, Observer
    from spadework.policies.base import Message, Policy, Trainer
    from spadework.ranking.rank import Ranked
    from spadework.selfplay.design.designer import SlotResult
    from spadework.selfplay.loop import Collected
    from spadework.selfplay.pool.files import write_pool
    from spadework.types import Design, Document, Environment, Episode, Fault, Group, Segment, TrainingRow, Turn

__version__ = "0.1.0"

__all__ = [
    "AgentSource",
    "Checked",
    "Collected",
    "ConfigError",
    "ConfigSource",
    "Design",
    "Document",
    "Environment",
    "EnvironmentSource",
    "Episode",
    "Fault",
    "FaultError",
    "Finding",
    "GraderError",
    "Group",
    "Limits",
    "LiveEpisode",
    "Message",
    "NullObserver",
    "Observer",
    "Policy",
    "PolicyError",
    "ProgramError",
    "Ranked",
    "RunConfig",
    "RunError",
    "Sandbox",
    "SandboxError",
    "Segment",
    "Session",
    "SlotResult",
    "SpadeworkError",
    "Step",
    "StoredRun",
    "SyncEpisode",
    "SyncSession",
    "Trainer",
    "TrainingRow",
    "Turn",
    "__version__",
    "check",
    "check_async",
    "collect",
    "collect_async",
    "design",
    "design_async",
    "load_pool",
    "open_episode",
    "open_run",
    "open_sandbox",
    "open_session",
    "play",
    "play_async",
    "rank",
    "rank_async",
    "read_config",
    "train",
    "train_async",
    "write_pool",
]

_HOMES = {
    "api.inputs": "ConfigSource EnvironmentSource load_pool read_config",
    "api.opening": "AgentSource open_sandbox",
    "api.playing": "check check_async open_episode open_session play play_async rank rank_async",
    "api.stored": "StoredRun open_run",
    "api.training": "collect collect_async design design_async train train_async",
    "config": "RunConfig",
    "envs.check.findings": "Finding",
    "envs.check.program": "Checked",
    "envs.sandbox.base": "Limits Sandbox Session Step SyncSession",
    "episode": "LiveEpisode SyncEpisode",
    "errors": "ConfigError FaultError GraderError PolicyError ProgramError RunError SandboxError SpadeworkError",
    "observer": "NullObserver Observer",
    "policies.base": "Message Policy Trainer",
    "ranking.rank": "Ranked",
    "selfplay.design.designer": "SlotResult",
    "selfplay.loop": "Collected",
    "selfplay.pool.files": "write_pool",
    "types": "Design Document Environment Episode Fault Group Segment TrainingRow Turn",
}
"""Module -> the public names that live there: the imports above, for the interpreter."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker that saw this would take every misspelt name for a public one

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
