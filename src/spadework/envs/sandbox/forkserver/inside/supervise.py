"""The zygote's side of templates: it hands them sockets, allows each fork, and checks what they report of it.

A template runs untrusted code, so it may lie, stall, or try to fork on its own. The kernel asks this process about each
attempt to fork, and those that were not requested are refused. One that was allowed must be reported at once, with the
id of a process of the template's own process group; else the whole group is killed, which is that one program's plays
and nobody else's. The group is what the check rests on: no call by which a process could change its group is allowed.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
from collections import deque
from collections.abc import Container
from time import monotonic  # our package keeps the real clocks: see virtual.patches

from . import kernel
from .template import DESCRIPTORS, FORK_FLAGS, PID

# Seccomp's user notifications, from linux/seccomp.h: the two ioctls, and the structures that they fill and take.
RECEIVE, SEND = 0xC0502100, 0xC0182101
NOTICE = struct.Struct("=QIIiIQ6Q")
"""seccomp_notif: id, pid, flags, call number, architecture, instruction pointer, arguments."""
ANSWER = struct.Struct("=QqiI")
"""seccomp_notif_resp: id, return value, error number, flags."""
CONTINUE = 1
"""The flag that lets the kernel carry out the call as it was made."""
CPU_PATIENCE = 0.25
"""CPU seconds in which a template must have forked; the wall limit of a call is for those that sleep instead."""


class Supervised:
    """One template child.

    Args:
        pid: its process id, which is also the id of its process group.
        control: the line on which it is asked to fork and reports what it forked.
        wall: wall seconds in which it must have forked.
    """

    def __init__(self, pid: int, control: socket.socket, wall: float) -> None:
        self.pid = pid
        self.wall = wall
        self.control = control
        self.listener = -1
        self.waiting: deque[tuple[int, int]] = deque()
        """Plays to come: instance id, socket."""
        self.forking = -1
        """The instance that is being forked, or -1."""
        self.allowed = False
        """Whether the template may fork once; an attempt to fork uses it up."""
        self.asked_at = self.cpu_at = 0.0
        """When the current fork was requested, and the template's CPU seconds at that time."""

    def descriptors(self) -> list[int]:
        """The descriptors to poll."""
        if self.listener < 0:
            return [self.control.fileno()]
        return [self.control.fileno(), self.listener]

    def request(self, instance: int, sock: int) -> None:
        """Have a play forked as soon as the template is free."""
        self.waiting.append((instance, sock))
        self.request_next_fork()

    def request_next_fork(self) -> None:
        """Ask for the next play's fork if the template is free."""
        if self.forking >= 0 or not self.waiting or self.listener < 0:
            return
        instance, sock = self.waiting[0]
        rights = array.array("i", [sock])
        try:
            self.control.sendmsg([b"fork"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError as error:
            if error.errno == errno.ETOOMANYREFS:
                # This user has too many descriptors in flight between processes: the zygote's next tick tries again.
                return
            # Otherwise it is dying. The request counts as made; reaping the template, or its deadline, reports it.
        self.waiting.popleft()
        self.forking = instance
        self.allowed = True
        self.asked_at = monotonic()
        self.cpu_at = self._cpu()
        os.close(sock)

    def pending_instances(self) -> list[int]:
        """The instances that were requested and have not been forked."""
        current = [self.forking] if self.forking >= 0 else []
        return current + [instance for instance, _ in self.waiting]

    def abandon_current(self) -> int:
        """Go on to the next play, and return the instance of the current one, which will never be forked."""
        instance, self.forking, self.allowed = self.forking, -1, False
        self.request_next_fork()
        return instance

    def overdue(self) -> bool:
        """Whether an allowed fork has not been reported in time."""
        if self.forking < 0:
            return False
        return monotonic() - self.asked_at > self.wall or self._cpu() - self.cpu_at > CPU_PATIENCE

    def _cpu(self) -> float:
        return kernel.cpu_clock(self.pid) or 0.0

    def read_report(self, known: Container[int], unannounced: dict[int, tuple[int, int]]) -> tuple[int, int] | None:
        """Read one report of the template. Returns the instance and the process id of a play, if one was born.

        The process id is checked: it belongs to a process that this template forked and had not reported before.

        Raises ``ValueError`` when the template lied, ``EOFError`` when it hung up, and ``ChildProcessError`` when the
        kernel did not let it fork.
        """
        data, ancillary, _, _ = self.control.recvmsg(64, socket.CMSG_SPACE(4))
        if not data and _hung_up(self.control):
            # An empty message looks the same as a hang-up; it goes on below and is a report out of turn.
            raise EOFError
        if self.listener < 0 and ancillary:
            (self.listener,) = array.array("i", ancillary[0][2])
            with contextlib.suppress(OSError):  # it is dying: reaping it tells
                kernel.limit_descriptors(DESCRIPTORS, self.pid)
                self.control.send(b"limited")
            self.request_next_fork()
            return None
        if self.forking < 0 or len(data) != PID.size:
            raise ValueError("spoke out of turn")
        (pid,) = PID.unpack(data)
        if pid < 0:
            raise ChildProcessError(f"could not fork: {os.strerror(-pid)}")
        if pid in known or not self._owns(pid, unannounced):
            raise ValueError(f"claimed process {pid}")
        born, self.forking = (self.forking, pid), -1
        self.request_next_fork()
        return born

    def _owns(self, pid: int, unannounced: dict[int, tuple[int, int]]) -> bool:
        try:
            group = unannounced[pid][0] if pid in unannounced else os.getpgid(pid)
            return pid > 0 and group == self.pid
        except OSError:
            return False

    def answer_fork_attempt(self) -> None:
        """Answer one attempt to fork: it is allowed once for each request, and refused otherwise."""
        notice = bytearray(NOTICE.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notice)
        except OSError:
            return  # whoever asked is dead
        identity, pid, _, _, _, _, flags, *_ = NOTICE.unpack(notice)
        # Flags are a register and not memory, so the program cannot change them between this check and the call.
        if self.allowed and pid == self.pid and flags == FORK_FLAGS:
            self.allowed = False
            answer = ANSWER.pack(identity, 0, 0, CONTINUE)
        else:
            answer = ANSWER.pack(identity, 0, -errno.EPERM, 0)
        with contextlib.suppress(OSError):  # whoever asked died while we decided
            fcntl.ioctl(self.listener, SEND, answer)

    def kill_all(self) -> None:
        """Kill the template and everything that it has forked."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of every descriptor."""
        for _, sock in self.waiting:
            os.close(sock)
        self.waiting.clear()
        self.control.close()
        if self.listener >= 0:
            os.close(self.listener)
            self.listener = -1


def _hung_up(sock: socket.socket) -> bool:
    """Whether the other end is closed."""
    poll = select.poll()
    poll.register(sock, 0)  # poll reports hang-ups and errors whether they were asked for or not
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
