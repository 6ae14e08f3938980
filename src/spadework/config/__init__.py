"""What a run is set to: its sections, the files they are read from, and what a run of them will cost."""

from spadework.config.base import OpenSection, Section
from spadework.config.design import CorpusSection, DesignerSection, HintSection, MemorySection
from spadework.config.environments import DifficultySection, PoolSection, SandboxSection, ValidationSection
from spadework.config.models import EndpointSection, ModelSection, SamplerSection, TinkerSection
from spadework.config.play import AgentSection, FewShot, PlaySection
from spadework.config.reporting import EvalSection, TrackSection
from spadework.config.rewards import RewardSection
from spadework.config.run import RunConfig, RunSection
from spadework.config.training import LessonsSection, UpdateSection, WarmupSection

__all__ = [
    "AgentSection",
    "CorpusSection",
    "DesignerSection",
    "DifficultySection",
    "EndpointSection",
    "EvalSection",
    "FewShot",
    "HintSection",
    "LessonsSection",
    "MemorySection",
    "ModelSection",
    "OpenSection",
    "PlaySection",
    "PoolSection",
    "RewardSection",
    "RunConfig",
    "RunSection",
    "SamplerSection",
    "SandboxSection",
    "Section",
    "TinkerSection",
    "TrackSection",
    "UpdateSection",
    "ValidationSection",
    "WarmupSection",
]
