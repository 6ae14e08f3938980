"""What a server says in the body of a refusal: its message, and which fields of the request it does not take."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

_LOOKED_AT = 2_000
"""Characters of a message in which fields are looked for: some servers repeat the whole request further down."""
_REFUSES = re.compile(
    r"unexpected|unknown|unrecogni[sz]ed|unsupported|not supported|does not support|not permitted|not allowed"
    r"|extra (inputs?|fields?)|invalid (field|parameter|argument)",
    re.IGNORECASE,
)
_EXTRA = "extra_forbidden"
"""Type of pydantic's error for a field that a model of the request does not have."""


def message_of(raw: bytes) -> str:
    """The message of a body: that of OpenAI's form (``error``) or of FastAPI's (``detail``), else the body's start."""
    data = _parsed(raw)
    for name in ("error", "detail", "message"):
        found = data.get(name)
        if isinstance(found, Mapping):
            found = found.get("message")
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            return "; ".join(_detail(entry) for entry in found)
    return raw[:_LOOKED_AT].decode(errors="replace")


def refused_fields(raw: bytes, sent: Collection[str]) -> frozenset[str]:
    """The fields of ``sent`` that a body names as refused; empty where it complains of something else."""
    data = _parsed(raw)
    detail = data.get("detail")
    if isinstance(detail, list):
        places = [entry.get("loc") for entry in detail if isinstance(entry, Mapping) and entry.get("type") == _EXTRA]
        return frozenset(str(part) for place in places if isinstance(place, list) for part in place[:2]) & set(sent)
    message = message_of(raw)[:_LOOKED_AT]
    if not _REFUSES.search(message):
        return frozenset()
    error = data.get("error")
    named = error.get("param") if isinstance(error, Mapping) else None
    if isinstance(named, str) and named in sent:
        return frozenset([named])
    return frozenset(set(re.findall(r"\w+", message)) & set(sent))


def _detail(entry: Any) -> str:
    """One complaint of FastAPI's list, as ``body.top_k: Extra inputs are not permitted``."""
    if not isinstance(entry, Mapping):
        return str(entry)
    place = entry.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{where}: {entry.get('msg', '')}" if where else str(entry.get("msg", entry))


def _parsed(raw: bytes) -> Mapping[str, Any]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, Mapping) else {}
