"""A child that has loaded its program and forks plays of it: a play costs a fork, not a load.

Its filter lets it fork only when its zygote says so, one play at a time (``supervise``). Its plays inherit everything:
the filter, the limits, the process group by which the zygote finds them.
"""

from __future__ import annotations

import array
import ctypes
import gc
import os
import platform
import select
import signal
import socket
import struct

from . import kernel, wire
from .syscalls import tables

CLONE_PARENT = 0x8000
FORK_FLAGS = CLONE_PARENT | signal.SIGCHLD
"""The play becomes the zygote's child, not ours: the zygote reaps it."""
PID = struct.Struct("<i")
DESCRIPTORS = 6
"""0 to 2, the socket, the control line, and the next play's socket."""


class Template:
    """The forking side of a template child. ``wait`` is what its runner does between requests."""

    def __init__(self) -> None:
        self._control = socket.socket(fileno=wire.CONTROL)
        self._poll = select.poll()
        self._poll.register(wire.SOCKET, select.POLLIN)
        self._poll.register(wire.CONTROL, select.POLLIN)
        self._clone = ctypes.PyDLL(None, use_errno=True).syscall  # raw: the C library's fork knows no CLONE_PARENT
        self._clone_number = tables(platform.machine())["conditional"]["clone"]
        self._forks = True
        self._frozen = False

    def hand_over(self, listener: int) -> None:
        """Give the zygote the descriptor that reports attempts to fork, and wait until it has set our limits."""
        rights = array.array("i", [listener])
        self._control.sendmsg([b"listener"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        os.close(listener)
        if not self._control.recv(16):
            os._exit(0)  # the zygote is gone

    def wait(self) -> None:
        """Fork plays until the host has a request. In a play there is nothing to wait for."""
        while self._forks:
            ready = dict(self._poll.poll())
            if wire.CONTROL in ready:
                self._serve_fork()
            elif wire.SOCKET in ready:
                return

    def _serve_fork(self) -> None:
        _, ancillary, _, _ = self._control.recvmsg(16, socket.CMSG_SPACE(4))
        if not ancillary:
            os._exit(0)  # the zygote is gone
        (sock,) = array.array("i", ancillary[0][2])
        if not self._frozen:
            # Done at the first fork, when the program is loaded, so that its objects are frozen too. Otherwise each
            # collection in a play would write to them all, and the kernel would copy every page.
            gc.collect()
            gc.freeze()
            self._frozen = True
        pid = self._clone(self._clone_number, FORK_FLAGS, 0, 0, 0, 0)
        if pid == 0:
            self._become_play(sock)
        else:
            os.close(sock)
            self._control.send(PID.pack(pid if pid > 0 else -ctypes.get_errno()))

    def _become_play(self, sock: int) -> None:
        kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
        self._forks = False
        self._control.detach()
        os.dup2(sock, wire.SOCKET)
        os.close(sock)
        os.close(wire.CONTROL)
        os.write(wire.SOCKET, wire.HELLO)
