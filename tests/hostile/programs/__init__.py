"""Programs that try to do harm, by kind. None of them may, and none may disturb a bystander."""

from __future__ import annotations

from programs import hang, kernel, memory, outside, protocol, system
from programs.base import Hostile

ALL: tuple[Hostile, ...] = (
    *outside.PROGRAMS,
    *system.PROGRAMS,
    *kernel.PROGRAMS,
    *memory.PROGRAMS,
    *hang.PROGRAMS,
    *protocol.PROGRAMS,
)
