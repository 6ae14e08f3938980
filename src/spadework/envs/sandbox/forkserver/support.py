"""Which layers a host gives, and what to do where it gives too few."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.inside.syscalls import MACHINES
from spadework.envs.sandbox.forkserver.kernel_facts import BROKEN, NO_START
from spadework.errors import SandboxError

LAYERS = {
    "rlimits": "hard limits on memory, CPU, files and descriptors",
    "unprivileged": "children run as nobody, or as the plain user who started them",
    "no_new_privs": "no capability, and no way to gain any",
    "write_xor_execute": "no memory both writable and executable (Linux 6.3)",
    "seccomp": "an allowlist of system calls",
    "templates": "plays forked from a loaded program (Linux 5.5); speed, not safety",
    "landlock": "no files, TCP, signals to others (Linux 5.13, more with each version)",
    "namespaces": "own network, processes, users and an empty root",
    "fixed_layout": "the same addresses at every start: id() and hash() of objects repeat; repeatability, not safety",
    "cpu_clocks": "limits on CPU seconds are judged by CPU clocks; where there are none, by wall clocks",
}
"""Every layer that ``doctor`` shows, and what it does."""
LEAST = ("rlimits", "no_new_privs", "seccomp")
"""The layers without which nothing runs."""
WAYS_OUT = (
    "Run in a Linux container or virtual machine (x86-64 or aarch64, any recent kernel; no privileges needed), "
    "or set sandbox.unsafe = true to run programs that you trust without confinement."
)


def check_platform() -> None:
    """Raise ``SandboxError`` on systems where there can be no sandbox."""
    if not sys.platform.startswith("linux"):
        raise SandboxError(BROKEN, f"no sandbox on {platform.system()}: it is made of Linux's own. {WAYS_OUT}")
    if platform.machine() not in MACHINES:
        known = " and ".join(MACHINES)
        raise SandboxError(BROKEN, f"no table of system calls for {platform.machine()}, only {known}. {WAYS_OUT}")


def check_layers(layers: Mapping[str, tuple[bool, str]], required: frozenset[str]) -> None:
    """Raise ``SandboxError`` if a required layer does not hold."""
    unknown = required - LAYERS.keys()
    if unknown:
        raise SandboxError(BROKEN, f"no such layer: {', '.join(sorted(unknown))}; there are {', '.join(LAYERS)}")
    missing = {name: layers[name][1] for name in sorted(required) if not layers[name][0]}
    if missing:
        raise missing_layers(missing)


def missing_layers(missing: Mapping[str, str]) -> SandboxError:
    """Return the fault that names each missing layer with its reason, and the ways out."""
    why = "; ".join(f"{name} ({reason})" for name, reason in missing.items())
    return SandboxError(BROKEN, f"layers of the sandbox are missing: {why}. {WAYS_OUT}")


def start_fault(said: bytes) -> SandboxError:
    """Return the fault of a child that sent ``said`` instead of ``wire.HELLO``."""
    text = said.decode(errors="replace")
    if text.startswith(wire.MISSING):
        layer, _, why = text.removeprefix(wire.MISSING).partition(": ")
        return missing_layers({layer: why})
    return SandboxError(NO_START, "a sandboxed child did not start", text)
