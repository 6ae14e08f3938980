"""Denies files, TCP, and signals and abstract sockets beyond the sandbox by Landlock; children inherit it for free."""

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
    """Return the version of the kernel's interface; below 1 where there is none."""
    return int(kernel.LIBC.syscall(CREATE, None, 0, 1))


def restrict() -> str:
    """Deny for good all that this kernel can deny, and return what that is. Raises ``OSError`` if that is nothing."""
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
