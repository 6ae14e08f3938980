"""The zygote's side of templates: it hands them sockets, allows each fork, and checks what they say of it.

A template runs untrusted code, so it may lie, stall, or try to fork on its own. Forks that were not asked for are
refused by the kernel on our word. One that was allowed must be accounted for at once, by a process of the template's
own process group; else the whole group dies, which is that one program's plays and nobody else's.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import signal
import socket
import struct
from collections import deque
from collections.abc import Container
from time import clock_gettime, monotonic  # by name: virtual time replaces the module's

from . import kernel
from .template import DESCRIPTORS, FORK_FLAGS, PID

RECEIVE, SEND = 0xC0502100, 0xC0182101
NOTICE = struct.Struct("=QIIiIQ6Q")
"""seccomp_notif: id, pid, flags, call number, architecture, instruction pointer, arguments."""
ANSWER = struct.Struct("=QqiI")
CONTINUE = 1
CPU_PATIENCE, WALL_PATIENCE = 0.25, 20.0
"""Seconds in which a template must have forked; CPU judges, wall is for sleepers."""


class Supervised:
    """One template child."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control = control
        self.listener = -1
        self.waiting: deque[tuple[int, int]] = deque()
        """Plays to come: instance id, socket."""
        self.current = -1
        """The instance that is being forked, or -1."""
        self.allowed = False
        self.asked_at = self.cpu_at = 0.0

    def descriptors(self) -> list[int]:
        """What to poll."""
        return [self.control.fileno(), *([self.listener] if self.listener >= 0 else [])]

    def request(self, instance: int, sock: int) -> None:
        """Have a play forked as soon as the template is free."""
        self.waiting.append((instance, sock))
        self.proceed()

    def proceed(self) -> None:
        """Ask for the next play's fork if the template is free."""
        if self.current >= 0 or not self.waiting or self.listener < 0:
            return
        instance, sock = self.waiting[0]
        rights = array.array("i", [sock])
        try:
            self.control.sendmsg([b"fork"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError as error:
            if error.errno == errno.ETOOMANYREFS:
                return  # too many descriptors of this user are on their way: once more at the next tick
            # else it is dying: reaping it or the deadline tells
        self.waiting.popleft()
        self.current, self.allowed, self.asked_at, self.cpu_at = instance, True, monotonic(), self._cpu()
        os.close(sock)

    def unborn(self) -> list[int]:
        """The instances that it was asked for and has not given."""
        return [*([self.current] if self.current >= 0 else []), *(instance for instance, _ in self.waiting)]

    def give_up(self) -> int:
        """Go on to the next play; gives the instance that will not be."""
        instance, self.current, self.allowed = self.current, -1, False
        self.proceed()
        return instance

    def overdue(self) -> bool:
        """Whether an allowed fork is not accounted for."""
        if self.current < 0:
            return False
        return monotonic() - self.asked_at > WALL_PATIENCE or self._cpu() - self.cpu_at > CPU_PATIENCE

    def _cpu(self) -> float:
        try:
            return clock_gettime((~self.pid << 3) | 2)  # the kernel's name for another process's CPU clock
        except OSError:
            return 0.0

    def heard(self, known: Container[int], strangers: dict[int, tuple[int, int]]) -> tuple[int, int] | None:
        """Read the control line. Gives an instance and the process id that is truly its own, if one was born.

        Raises ``ValueError`` when the template lied, ``EOFError`` when it hung up, and ``ChildProcessError`` when the
        kernel did not let it fork.
        """
        data, ancillary, _, _ = self.control.recvmsg(64, socket.CMSG_SPACE(4))
        if not data:
            raise EOFError
        if self.listener < 0 and ancillary:
            (self.listener,) = array.array("i", ancillary[0][2])
            with contextlib.suppress(OSError):  # it is dying: reaping it tells
                kernel.limit_descriptors(DESCRIPTORS, self.pid)
                self.control.send(b"limited")
            self.proceed()
            return None
        if self.current < 0 or len(data) != PID.size:
            raise ValueError("spoke out of turn")
        (pid,) = PID.unpack(data)
        if pid < 0:
            raise ChildProcessError(f"could not fork: {os.strerror(-pid)}")
        if pid in known or not self._owns(pid, strangers):
            raise ValueError(f"claimed process {pid}")
        born, self.current = (self.current, pid), -1
        self.proceed()
        return born

    def _owns(self, pid: int, strangers: dict[int, tuple[int, int]]) -> bool:
        try:
            group = strangers[pid][0] if pid in strangers else os.getpgid(pid)
            return pid > 0 and group == self.pid
        except OSError:
            return False

    def judge(self) -> None:
        """Answer one attempt to fork: allowed once for each request, refused otherwise."""
        notice = bytearray(NOTICE.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notice)
        except OSError:
            return  # whoever asked is dead
        identity, pid, _, _, _, _, flags, *_ = NOTICE.unpack(notice)
        yes = self.allowed and pid == self.pid and flags == FORK_FLAGS
        answer = ANSWER.pack(identity, 0, 0, CONTINUE) if yes else ANSWER.pack(identity, 0, -errno.EPERM, 0)
        if yes:
            self.allowed = False
        try:
            fcntl.ioctl(self.listener, SEND, answer)
        except OSError:
            return

    def kill_all(self) -> None:
        """The template and everything that it has forked."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def close(self) -> None:
        """Let go of every descriptor."""
        for _, sock in self.waiting:
            os.close(sock)
        self.waiting.clear()
        self.control.close()
        if self.listener >= 0:
            os.close(self.listener)
            self.listener = -1
