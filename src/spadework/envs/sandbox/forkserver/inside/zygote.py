"""The fork server: warm, confined, single-threaded. Forks a child for each socket that the host sends.

Control messages are JSON over SOCK_SEQPACKET, with the sockets attached as descriptors: programs and actions travel
over those sockets only, so this process never sees a byte that a model or a player wrote.

The host orders ``spawn`` (a child that has loaded nothing), ``fork`` (a play of a template), ``kill`` and ``cpu``. The
zygote reports ``ready`` or ``failed`` once, ``born`` and ``exits`` of children, and ``cpu`` when it was asked.
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
    """Carries out the host's orders and reports births and exits."""

    def __init__(self, control: socket.socket, config: dict[str, Any], fixed_layout: tuple[bool, str]) -> None:
        self.control = control
        self.bases: list[str] = config["bases"]
        self.null = os.open("/dev/null", os.O_RDWR)
        self.prelude = warm(config)
        rehearse(Runner(self.prelude, self.bases))
        mappings.merge()
        # Measured before confinement: with an empty root there is no /proc to read it from.
        self.base, self.held = kernel.address_space(), kernel.held()
        self.layers = layers.confine(set(config["without"]))
        self.layers["fixed_layout"] = fixed_layout
        self.filter = layers.filter_of(self.layers, ask_to_fork=False)
        self.asking_filter = layers.filter_of(self.layers, ask_to_fork=True)
        self.pids: dict[int, int] = {}
        """Process id to instance id, of children that live."""
        self.instances: dict[int, int] = {}
        self.templates: dict[int, Supervised] = {}
        self.reasons: dict[int, tuple[str, str]] = {}
        """Instance id to the fault's code and reason, of children that were killed for what their template did."""
        self.unannounced: dict[int, tuple[int, int]] = {}
        """Process id to group and exit status, of plays that died before their template reported their birth."""
        self.report_to = -1
        """In a child: the descriptor on which it says why it could not start."""
        self.poll = select.poll()
        self.owners: dict[int, int] = {}
        """Descriptor to the template that it belongs to."""

    def run(self) -> NoReturn:
        """Serve until the host is gone, then take all children along."""
        # A handler in Python could run in the middle of an order: a death only wakes the poll below.
        signals, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll.register(self.control, select.POLLIN)
        self.poll.register(signals, select.POLLIN)
        kernel.prctl(kernel.DUMPABLE, 0)
        # A collection writes to the header of every object, and each page written is a page copied in each child:
        # freeze() moves what is loaded out of the collector's sight, for this process and all its children.
        gc.collect()
        gc.disable()
        gc.freeze()
        self.send({"ready": self.layers, "held": self.held})
        while True:
            for descriptor, _ in self.poll.poll(TICK_MS if self.templates else None):
                if descriptor == signals:
                    os.read(signals, 4096)
                    self.reap()
                elif descriptor == self.control.fileno():
                    self.handle_order()
                elif descriptor in self.owners:
                    self.handle_template(self.owners[descriptor], descriptor)
            for instance, template in list(self.templates.items()):
                if template.overdue():
                    blamed = not kernel.is_stopped(template.pid)  # SIGSTOP comes from outside
                    self.kill_template(instance, "did not fork when asked to" if blamed else "", wire.HANG)
                else:
                    template.request_next_fork()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the host."""
        self.control.send(json.dumps(message).encode())

    def send_exits(self, exits: list[list[Any]]) -> None:
        """Report exits: of each the instance, its status, and code and reason of a fault that the status hides."""
        for start in range(0, len(exits), MOST_DESCRIPTORS):
            self.send({"exits": exits[start : start + MOST_DESCRIPTORS]})

    def handle_order(self) -> None:
        """Carry out one order of the host."""
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
            return
        if message["do"] == "cpu":
            for instance in message["ids"]:
                self.send({"cpu": [instance, *self.measure(instance)]})
            return
        (instance,) = message["ids"]
        if not sockets:  # the kernel drops descriptors on their way to a process that may hold no more
            self.send_exits([[instance, -signal.SIGKILL, "", ""]])
        elif message["do"] == "fork":
            self.fork(message["template"], instance, sockets[0])
        else:
            self.spawn(instance, sockets[0], message)

    def measure(self, instance: int) -> tuple[float | None, bool]:
        """Return the CPU seconds of a child, None if they cannot be read, and whether somebody has stopped it."""
        pid = self.instances.get(instance)
        if pid is None:
            return None, False
        return kernel.cpu_clock(pid), kernel.is_stopped(pid)

    def spawn(self, instance: int, sock: int, message: dict[str, Any]) -> None:
        """Fork a child that has loaded nothing yet."""
        ours = theirs = None
        try:
            if message["template"]:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            pid = os.fork()
        except OSError:  # no more descriptors or processes: the host hears of a death at birth
            for end in (ours, theirs):
                if end is not None:
                    end.close()
            os.close(sock)
            self.send_exits([[instance, -signal.SIGKILL, "", ""]])
            return
        if pid == 0:
            self.become_child(sock, theirs, message["memory"])
        os.close(sock)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does so too: whoever comes first
        self.register(instance, pid)
        if ours is not None and theirs is not None:
            theirs.close()
            self.templates[instance] = Supervised(pid, ours, message["wall"])
            self.watch(instance)

    def become_child(self, sock: int, control: socket.socket | None, memory: int) -> NoReturn:
        """Confine ourselves and serve. Never returns."""
        self.report_to = sock
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(0, 0)
            template = self.confine_child(sock, control, memory)
            gc.enable()
            os.write(wire.SOCKET, wire.HELLO)
        except BaseException:  # noqa: BLE001 - the host is told, whatever it was
            os.write(self.report_to, traceback.format_exc().encode()[-4000:])
            os._exit(1)
        runner = Runner(self.prelude, self.bases)
        if template is None:
            serve(runner)
        serve(runner, template.wait)

    def confine_child(self, sock: int, control: socket.socket | None, memory: int) -> Template | None:
        """Take descriptors, give up rights, take limits, and install the filter.

        The filter comes last, since it forbids all the others. A template's descriptors are limited by this zygote once
        it has the listener, for RLIMIT_NOFILE also bounds how many descriptors a user may have on their way between
        processes: with a limit of six, one that sends its listener could be refused by what its siblings send.
        """
        if control is None:
            kernel.take_sockets([sock], self.null)
            kernel.limit_descriptors(wire.SOCKET + 1)
        else:
            kernel.take_sockets([sock, control.detach()], self.null)
        self.report_to = wire.SOCKET
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
            self.send_exits([[instance, -signal.SIGKILL, wire.DIED, "its template is gone"]])

    def handle_template(self, instance: int, descriptor: int) -> None:
        """Handle what a template reports, or an attempt to fork by a process under its filter."""
        template = self.templates[instance]
        if not _readable(descriptor):
            return  # an event of a descriptor that was closed since, and whose number was given out again
        if descriptor == template.listener:
            template.answer_fork_attempt()
            return
        try:
            born = template.read_report(self.pids, self.unannounced)
        except (EOFError, ConnectionError):
            self.poll.unregister(descriptor)  # it is dead or about to be: reaping it or its deadline sees to the rest
            return
        except ChildProcessError as error:
            self.send_exits([[template.abandon_current(), -signal.SIGKILL, wire.DIED, f"its template {error}"]])
            return
        except (ValueError, OSError) as error:
            self.kill_template(instance, str(error))
            return
        self.watch(instance)
        if born is not None:
            self.register(*born)
            _, status = self.unannounced.pop(born[1], (0, None))
            if status is not None:
                self.send_exits([self.unregister(born[1], status)])

    def watch(self, instance: int) -> None:
        """Poll the descriptors that a template has by now."""
        for descriptor in self.templates[instance].descriptors():
            if descriptor not in self.owners:
                self.owners[descriptor] = instance
                self.poll.register(descriptor, select.POLLIN)

    def register(self, instance: int, pid: int) -> None:
        """Note that a child lives, and report its birth."""
        self.pids[pid], self.instances[instance] = instance, pid
        self.send({"born": [instance, pid]})

    def kill(self, instance: int) -> None:
        """Kill a child; its exit is reported when it is reaped."""
        if instance in self.instances:
            os.kill(self.instances[instance], signal.SIGKILL)

    def kill_template(self, instance: int, why: str, code: str = wire.DIED) -> None:
        """Kill a template and all that it has forked.

        Args:
            instance: the template.
            why: what it did; empty if nobody is to blame, for SIGKILL alone reads as a death from outside.
            code: the fault of its plays.
        """
        template = self.templates[instance]
        fault = (code, f"its template {why}") if why else ("", "")
        for pid, member in self.pids.items():
            if why and os.getpgid(pid) == template.pid:
                self.reasons[member] = fault
        template.kill_all()
        pending = template.pending_instances()
        self.stop_watching(instance)
        self.send_exits([[member, -signal.SIGKILL, *fault] for member in pending])

    def stop_watching(self, instance: int) -> None:
        """Stop listening to a template."""
        template = self.templates.pop(instance)
        for descriptor in template.descriptors():
            if self.owners.pop(descriptor, None) is not None:
                with contextlib.suppress(KeyError):
                    self.poll.unregister(descriptor)
        template.close()
        self.unannounced = {pid: dead for pid, dead in self.unannounced.items() if dead[0] != template.pid}

    def reap(self) -> None:
        """Collect the exit statuses of the dead and report them."""
        exits: list[list[Any]] = []
        while (pid := _next_dead()) is not None:
            group = os.getpgid(pid)  # before it is reaped: afterwards nobody knows which template forked it
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if pid not in self.pids:
                self.unannounced[pid] = group, status
                continue
            exits.append(self.unregister(pid, status))
            if exits[-1][0] in self.templates:
                self.template_died(exits[-1][0], status)
        self.send_exits(exits)

    def unregister(self, pid: int, status: int) -> list[Any]:
        """Forget a dead child; gives the report of its exit."""
        instance = self.pids.pop(pid)
        del self.instances[instance]
        return [instance, status, *self.reasons.pop(instance, ("", ""))]

    def template_died(self, instance: int, status: int) -> None:
        """Handle the death of a template. Its plays go on, unless it may have forked one that it did not report.

        No program can send SIGKILL: that comes from outside and blames nobody.
        """
        template = self.templates[instance]
        if template.forking >= 0:
            self.kill_template(instance, "" if status == -signal.SIGKILL else "died")
        else:
            self.stop_watching(instance)

    def end(self) -> NoReturn:
        """End with all children, since the host is gone."""
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
    """Confine this process and serve. Never returns: the zygote ends when the host hangs up."""
    sock = socket.socket(fileno=control)
    try:
        fixed_layout = layers.fix_layout()
        kernel.stand_back()
        zygote = Zygote(sock, config, fixed_layout)
        sys.argv[:] = [""]
    except BaseException:  # noqa: BLE001 - the host is told, whatever it was
        sock.send(json.dumps({"failed": traceback.format_exc()[-4000:]}).encode())
        os._exit(1)
    try:
        zygote.run()
    except (ConnectionError, BrokenPipeError):
        zygote.end()
