"""Moves a process into namespaces without network, other processes or files. It needs no privilege."""

from __future__ import annotations

import ctypes
import os
import platform

from . import kernel

NOBODY = 65534
HOST_NAME = b"sandbox"
NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
ALL = NEWUSER | NEWNET | NEWIPC | NEWUTS | NEWNS | NEWPID | NEWCGROUP
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, RECURSIVE, PRIVATE, DETACH = 1, 2, 4, 8, 32, 0x4000, 0x40000, 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
CAPABILITY_VERSION = 0x20080522
MEMBERS = "user, network, ipc, uts, mount with an empty read-only root, pid, cgroup"


def give_up_root() -> None:
    """Become nobody for good if this process is root; any other user stays the same."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        kernel.prctl(kernel.DUMPABLE, 1)  # or /proc/self/uid_map would stay root's


def enter() -> None:
    """Move into new namespaces. Raises ``OSError`` where the host does not give them, leaving all as it was.

    The process namespace begins with the next child, which is its init.
    """
    uid, gid = os.getuid(), os.getgid()
    if kernel.LIBC.unshare(ALL) != 0:
        raise kernel.failure("unshare")
    for file, text in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {uid} 1"), ("gid_map", f"{NOBODY} {gid} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as handle:
            handle.write(text)
    kernel.LIBC.sethostname(HOST_NAME, len(HOST_NAME))  # the new namespace begins with the host's own name


def empty_root() -> None:
    """Swap the root for an empty read-only one.

    Mounts become private first, or they would spread to the host. ``pivot_root`` of "." onto "." stacks the old root on
    the new one, so that it can be unmounted without a folder to put it in (pivot_root(2)); a mere chroot could be left.
    """
    mount = kernel.LIBC.mount
    mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
    _check(mount(b"none", b"/", None, RECURSIVE | PRIVATE, None), "mount private")
    _check(mount(b"sandbox", b"/tmp", b"tmpfs", NOSUID | NODEV | NOEXEC, b"size=4k,mode=555"), "mount tmpfs")
    os.chdir("/tmp")
    _check(kernel.LIBC.syscall(PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _check(kernel.LIBC.umount2(b".", DETACH), "umount the old root")
    os.chdir("/")
    _check(mount(None, b"/", None, RDONLY | REMOUNT | NOSUID | NODEV | NOEXEC, None), "remount read-only")


def drop_capabilities() -> None:
    """Give up every capability, and every way to regain one."""
    for capability in range(64):
        kernel.prctl(kernel.BOUNDING_DROP, capability)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _check(kernel.LIBC.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "capset")
    kernel.prctl(kernel.NO_NEW_PRIVS, 1, needed=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise kernel.failure(what)
