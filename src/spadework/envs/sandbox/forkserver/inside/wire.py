"""The protocol between host and child: fixed headers, UTF-8 text, JSON; never pickle.

A request is a header and a body. A reply is a header, the observation and a JSON object. The host checks every field
before it believes it; this module is all that both sides share.
"""

from __future__ import annotations

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

MAX_JSON = 1 << 20
"""Bytes of the JSON part of a reply."""

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
