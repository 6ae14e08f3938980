"""What a games reply plays: ``spadework.scan`` reads it."""

from __future__ import annotations

from spadework.scan import last_box, strip_thinking

__all__ = ["last_box", "strip_thinking"]
