"""Landlock: no file, no TCP, no signal or abstract socket beyond the sandbox. Inherited by children at no cost."""

from __future__ import annotations

import os
import struct

from . import kernel

CREATE, RESTRICT = 444, 446
"""System call numbers, the same on both machines."""
FILES = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many kinds of access to files each version of the interface knows; 16 from the fifth on."""
TCP, SCOPES = 0b11, 0b11


def version() -> int:
    """The interface's version; below 1 where there is none."""
    return int(kernel.LIBC.syscall(CREATE, None, 0, 1))


def restrict() -> str:
    """Deny all that can be denied, for good. Gives what was denied; raises ``OSError`` if nothing could be."""
    have = version()
    if have < 1:
        raise kernel.failure("landlock")
    files = (1 << FILES.get(have, 16)) - 1
    attributes = struct.pack("<QQQ", files, TCP if have >= 4 else 0, SCOPES if have >= 6 else 0)
    attributes = attributes[: 8 if have < 4 else 16 if have < 6 else 24]
    ruleset = kernel.LIBC.syscall(CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        raise kernel.failure("landlock_create_ruleset")
    try:
        if kernel.LIBC.syscall(RESTRICT, ruleset, 0) != 0:
            raise kernel.failure("landlock_restrict_self")
    finally:
        os.close(ruleset)
    denied = ["files", *(["TCP"] if have >= 4 else []), *(["signals", "abstract sockets"] if have >= 6 else [])]
    return f"version {have}: no " + ", ".join(denied)
