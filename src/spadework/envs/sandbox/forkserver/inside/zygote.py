"""The fork server: warm, confined, single-threaded. Forks a child for each socket that the host sends.

Control messages are JSON over SOCK_SEQPACKET with descriptors attached, so it never sees a program or an action.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

from . import kernel, layers, mappings, wire
from .runner import Runner, rehearse, serve
from .supervise import Supervised
from .template import Template
from .warm import warm

MOST_DESCRIPTORS = 64
TICK_MS = 500


class Zygote:
    """Serves ``spawn``, ``fork`` and ``kill``; tells of births and exits."""

    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self.control = control
        self.bases: list[str] = config["bases"]
        self.null = os.open("/dev/null", os.O_RDWR)
        self.prelude = warm(config)
        rehearse(Runner(self.prelude, self.bases))
        mappings.merge()
        self.base, self.held = kernel.address_space(), kernel.held()
        self.layers = layers.confine(set(config["without"]))
        self.filter = layers.filter_of(self.layers, ask_to_fork=False)
        self.asking_filter = layers.filter_of(self.layers, ask_to_fork=True)
        self.pids: dict[int, int] = {}
        """Process id to instance id, of children that live."""
        self.instances: dict[int, int] = {}
        self.templates: dict[int, Supervised] = {}
        self.reasons: dict[int, str] = {}
        self.strangers: dict[int, tuple[int, int]] = {}
        """Process id to group and status, of plays that died before their template told of them."""
        self.telling = -1
        """In a child: the descriptor on which it says why it could not start."""
        self.poll = select.poll()
        self.owners: dict[int, int] = {}
        """Descriptor to the template that it belongs to."""

    def run(self) -> NoReturn:
        """Serve until the host is gone, then take all children along."""
        signals, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll.register(self.control, select.POLLIN)
        self.poll.register(signals, select.POLLIN)
        kernel.prctl(kernel.DUMPABLE, 0)
        gc.collect()
        gc.disable()
        gc.freeze()
        self.tell({"ready": self.layers, "held": self.held})
        while True:
            for descriptor, _ in self.poll.poll(TICK_MS if self.templates else None):
                if descriptor == signals:
                    os.read(signals, 4096)
                    self.reap()
                elif descriptor == self.control.fileno():
                    self.obey()
                elif descriptor in self.owners:
                    self.attend(self.owners[descriptor], descriptor)
            for instance, template in list(self.templates.items()):
                if template.overdue():
                    self.punish(instance, "did not fork when asked to")
                else:
                    template.proceed()

    def tell(self, message: dict[str, Any]) -> None:
        """To the host."""
        self.control.send(json.dumps(message).encode())

    def tell_exits(self, exits: list[list[Any]]) -> None:
        """Of each: the instance, its status, and the reason if its status does not tell it."""
        for start in range(0, len(exits), MOST_DESCRIPTORS):
            self.tell({"exits": exits[start : start + MOST_DESCRIPTORS]})

    def obey(self) -> None:
        """One message of the host."""
        data, ancillary, _, _ = self.control.recvmsg(1 << 16, socket.CMSG_SPACE(4 * MOST_DESCRIPTORS))
        if not data:
            self.end()
        sockets = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                sockets.frombytes(content[: len(content) - len(content) % sockets.itemsize])
        message = json.loads(data)
        if message["do"] == "kill":
            for instance in message["ids"]:
                self.kill(instance)
        for instance, sock in zip(message["ids"], sockets, strict=False):
            if message["do"] == "fork":
                self.fork(message["template"], instance, sock)
            else:
                self.spawn(instance, sock, message)

    def spawn(self, instance: int, sock: int, message: dict[str, Any]) -> None:
        """Fork a child that has loaded nothing yet."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if message["template"] else (None, None)
        try:
            pid = os.fork()
        except OSError:  # no more processes: the host hears of a death at birth
            for end in (ours, theirs):
                if end is not None:
                    end.close()
            os.close(sock)
            self.tell_exits([[instance, -signal.SIGKILL, ""]])
            return
        if pid == 0:
            self.become_child(sock, theirs, message["memory"])
        os.close(sock)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does so too: whoever comes first
        self.bear(instance, pid)
        if ours is not None and theirs is not None:
            theirs.close()
            self.templates[instance] = Supervised(pid, ours)
            self.watch(instance)

    def become_child(self, sock: int, control: socket.socket | None, memory: int) -> NoReturn:
        """Confine ourselves and serve. Never returns."""
        self.telling = sock
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(0, 0)
            template = self.confine_child(sock, control, memory)
            gc.enable()
            os.write(wire.SOCKET, wire.HELLO)
        except BaseException:  # noqa: BLE001 - the host is told, whatever it was
            os.write(self.telling, traceback.format_exc().encode()[-4000:])
            os._exit(1)
        runner = Runner(self.prelude, self.bases)
        if template is None:
            serve(runner)
        serve(runner, template.wait)

    def confine_child(self, sock: int, control: socket.socket | None, memory: int) -> Template | None:
        """Descriptors, rights, limits, filter: in this order, since the filter forbids the rest."""
        if control is None:
            kernel.take_sockets([sock], self.null)
            kernel.limit_descriptors(wire.SOCKET + 1)
        else:
            kernel.take_sockets([sock, control.detach()], self.null)  # its zygote limits these, before it loads
        self.telling = wire.SOCKET
        kernel.give_up_rights()
        kernel.limit(self.base + memory, kernel.LIFETIME_CPU)
        template = None if control is None else Template()
        filter_ = self.filter if control is None else self.asking_filter
        listener = -1 if filter_ is None else filter_.install()
        if template is not None:
            template.hand_over(listener)
        return template

    def fork(self, template: int, instance: int, sock: int) -> None:
        """Have a template fork a play."""
        if template in self.templates:
            self.templates[template].request(instance, sock)
        else:
            os.close(sock)
            self.tell_exits([[instance, -signal.SIGKILL, "its template is gone"]])

    def attend(self, instance: int, descriptor: int) -> None:
        """A template spoke, or something under its filter tries to fork."""
        template = self.templates[instance]
        if not _readable(descriptor):
            return  # an event of a descriptor that was closed since, and whose number was given out again
        if descriptor == template.listener:
            template.judge()
            return
        try:
            born = template.heard(self.pids, self.strangers)
        except (EOFError, ConnectionError):
            self.poll.unregister(descriptor)  # it is dead or about to be: reaping it or its deadline sees to the rest
            return
        except ChildProcessError as error:
            self.tell_exits([[template.give_up(), -signal.SIGKILL, f"its template {error}"]])
            return
        except (ValueError, OSError) as error:
            self.punish(instance, str(error))
            return
        self.watch(instance)
        if born is not None:
            self.bear(*born)
            _, status = self.strangers.pop(born[1], (0, None))
            if status is not None:
                self.tell_exits([self.mourn(born[1], status)])

    def watch(self, instance: int) -> None:
        """Poll what a template has by now."""
        for descriptor in self.templates[instance].descriptors():
            if descriptor not in self.owners:
                self.owners[descriptor] = instance
                self.poll.register(descriptor, select.POLLIN)

    def bear(self, instance: int, pid: int) -> None:
        """A child lives."""
        self.pids[pid], self.instances[instance] = instance, pid
        self.tell({"born": [instance, pid]})

    def kill(self, instance: int) -> None:
        """Its exit is told when it is reaped."""
        if instance in self.instances:
            os.kill(self.instances[instance], signal.SIGKILL)

    def punish(self, instance: int, why: str) -> None:
        """Kill a template that broke the rules, and all that it has forked; no ``why`` blames no program."""
        template, reason = self.templates[instance], f"its template {why}" if why else ""
        for pid, member in self.pids.items():
            if reason and os.getpgid(pid) == template.pid:
                self.reasons[member] = reason
        template.kill_all()
        unborn = template.unborn()
        self.forget(instance)
        self.tell_exits([[member, -signal.SIGKILL, reason] for member in unborn])

    def forget(self, instance: int) -> None:
        """Stop listening to a template."""
        template = self.templates.pop(instance)
        for descriptor in template.descriptors():
            if self.owners.pop(descriptor, None) is not None:
                with contextlib.suppress(KeyError):
                    self.poll.unregister(descriptor)
        template.close()
        self.strangers = {pid: dead for pid, dead in self.strangers.items() if dead[0] != template.pid}

    def reap(self) -> None:
        """Collect the dead and tell the host."""
        exits: list[list[Any]] = []
        while (pid := _next_dead()) is not None:
            group = os.getpgid(pid)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if pid not in self.pids:
                self.strangers[pid] = group, status
                continue
            exits.append(self.mourn(pid, status))
            if exits[-1][0] in self.templates:
                self.bury(exits[-1][0], status)
        self.tell_exits(exits)

    def mourn(self, pid: int, status: int) -> list[Any]:
        """Forget a dead child; gives what the host is told of it."""
        instance = self.pids.pop(pid)
        del self.instances[instance]
        return [instance, status, self.reasons.pop(instance, "")]

    def bury(self, instance: int, status: int) -> None:
        """A template died. Its plays go on, unless it may have forked one of which it did not tell.

        No program can send SIGKILL: that comes from outside and blames nobody.
        """
        template = self.templates[instance]
        if template.current >= 0:
            self.punish(instance, "" if status == -signal.SIGKILL else "died")
        else:
            self.forget(instance)

    def end(self) -> NoReturn:
        """The host is gone."""
        for pid in self.pids:
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                os.kill(pid, signal.SIGKILL)
        os._exit(0)


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _next_dead() -> int | None:
    try:
        dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return dead.si_pid if dead is not None else None


def main(control: int, config: dict[str, Any]) -> NoReturn:
    """Never returns: the zygote ends when the host hangs up."""
    sock = socket.socket(fileno=control)
    try:
        layers.fix_layout()
        kernel.stand_back()
        zygote = Zygote(sock, config)
        sys.argv[:] = [""]
    except BaseException:  # noqa: BLE001 - the host is told, whatever it was
        sock.send(json.dumps({"failed": traceback.format_exc()[-4000:]}).encode())
        os._exit(1)
    try:
        zygote.run()
    except (ConnectionError, BrokenPipeError):
        zygote.end()
