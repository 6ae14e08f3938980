"""The protocol between host and child: fixed headers, UTF-8 text, JSON; never pickle.

A request is a header and a body. A reply is a header, the observation and a JSON object. The host checks every field
before it believes it; this module is all that both sides share.
"""

from __future__ import annotations

import re
import struct

REQUEST = struct.Struct("<IIB")
"""Body length, request id, operation."""
REPLY = struct.Struct("<IIBdI")
"""Length of what follows, request id, flags, reward, observation length in bytes."""

COMPILE, LOAD, RESET, STEP, CALL, PLAY = range(1, 7)
TERMINATED, TRUNCATED, FAULT, MORE = 1, 2, 4, 8
"""Flags of a reply; ``MORE`` says that another reply to the same request follows."""
ENDED = TERMINATED | TRUNCATED

SOCKET = 3
"""The descriptor on which a child serves; 0 to 2 are /dev/null and there is no other."""

CONTROL = 4
"""A template child's line to its zygote."""

HELLO = b"ready"
"""What a child says once it is confined; anything else instead is why it could not."""

MISSING = "missing layer "
"""How that reason begins if the kernel did not give a layer: its name and the kernel's reason follow."""

OUT_OF_MEMORY = 77
"""The exit status of a child that cannot even tell of it."""

MAX_CODE = 1 << 20
"""Bytes of the JSON part of a reply to ``COMPILE``."""
MAX_JSON = 1 << 18
"""Bytes of the JSON part of any other reply."""
MAX_VALUES = 8192
"""Values in the JSON part of a reply: an empty list takes two bytes there and 56 as an object of the host."""
MAX_NESTED = 64
"""Lists and objects inside each other in the JSON part of a reply."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")

NO_SYNTAX = "ENV001"
NO_CLASS = "ENV002"
NO_START = "ENV003"
RAISED = "ENV201"
BAD_TYPES = "ENV202"
BAD_REWARD = "ENV203"
NO_METHOD = "ENV204"
HANG = "ENV205"
MEMORY = "ENV206"
TOO_LONG = "ENV207"
DIED = "ENV208"
CHILD_CODES = frozenset({NO_SYNTAX, NO_CLASS, NO_START, RAISED, BAD_TYPES, BAD_REWARD, NO_METHOD, MEMORY, TOO_LONG})
"""What a child may say of itself; hangs and deaths are the host's to judge."""


def json_excess(data: bytes) -> str:
    """What the JSON part of a reply has too much of; empty where it may be decoded. It only counts marks."""
    if len(data) > MAX_JSON:
        return f"{len(data)} bytes; the limit is {MAX_JSON}"
    if _openings(data) <= MAX_NESTED and _most_values(data) <= MAX_VALUES:
        return ""  # even with those that stand in text
    bare = _STRING.sub(b"", data)
    if _most_values(bare) > MAX_VALUES:
        return f"more than {MAX_VALUES} values"
    depth = 0
    for bracket in _BRACKET.findall(bare):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_NESTED:
            return f"more than {MAX_NESTED} lists and objects inside each other"
    return ""


def _most_values(data: bytes) -> int:
    """An upper bound of the number of values."""
    return data.count(b",") + _openings(data) + 1


def _openings(data: bytes) -> int:
    """The number of lists and objects, and so an upper bound of how deep they stand in each other."""
    return data.count(b"[") + data.count(b"{")
