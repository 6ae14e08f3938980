"""The fork server: a warm, confined process with one thread, which forks a child for each socket that the host sends.

It only starts, supervises and reaps processes. It never sees a program or an action: those travel over the children's
own sockets, so no byte that a model or a player wrote can reach this process. ``runner`` serves them in the children.

The host sends orders as JSON over a SOCK_SEQPACKET socket, with the children's sockets attached as descriptors:

    spawn   fork a child that has loaded no program yet; it may become a template
    fork    have a template, which has loaded its program, fork a play of it
    kill    kill children
    cpu     report how much CPU time children have used

The zygote answers with ``ready`` or ``failed`` once, then with ``born``, ``exits`` and ``cpu``.
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
"""The most sockets in one order, and the most exits in one report."""
TICK_MS = 500
"""How often the deadlines of templates are checked. Nothing else here needs a timer."""


class Zygote:
    """Carries out the host's orders and reports births and exits."""

    def __init__(self, control: socket.socket, config: dict[str, Any], fixed_layout: tuple[bool, str]) -> None:
        self.control = control
        self.bases: list[str] = config["bases"]
        self.null = os.open("/dev/null", os.O_RDWR)
        # Whatever is loaded and run here is shared by all children, and need not be done in each of them.
        self.prelude = warm(config)
        rehearse(Runner(self.prelude, self.bases))
        mappings.merge()
        # Measured before confinement: with an empty root there is no /proc to read it from.
        self.loaded_bytes = kernel.address_space()
        """Address space that each child inherits. Its memory limit is counted on top of this."""
        self.held = kernel.held()
        self.layers = layers.confine(set(config["without"]))
        self.layers["fixed_layout"] = fixed_layout
        self.filter = layers.filter_of(self.layers, ask_to_fork=False)
        """The seccomp filter of ordinary children, which can never fork."""
        self.asking_filter = layers.filter_of(self.layers, ask_to_fork=True)
        """The seccomp filter of templates: the kernel asks this process about each attempt to fork."""
        self.pids: dict[int, int] = {}
        """Maps the process id of each living child to its instance id."""
        self.instances: dict[int, int] = {}
        """Maps the instance id of each living child to its process id."""
        self.templates: dict[int, Supervised] = {}
        """Maps the instance id of each living template to its supervision."""
        self.reasons: dict[int, tuple[str, str]] = {}
        """Maps the instance id of a child that was killed for what its template did to the fault's code and reason."""
        self.unannounced: dict[int, tuple[int, int]] = {}
        """Maps the process id of a play that died before its template reported it to its group and exit status."""
        self.report_to = -1
        """In a child: the descriptor on which it says why it could not start."""
        self.poll = select.poll()
        self.owners: dict[int, int] = {}
        """Maps each descriptor of a template to the template's instance id."""

    def run(self) -> NoReturn:
        """Serve until the host is gone, then end with all children."""
        # SIGCHLD only writes a byte to a pipe, which wakes the poll below. A handler that reaped children itself could
        # run in the middle of an order and change the tables that the order works on.
        signals, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll.register(self.control, select.POLLIN)
        self.poll.register(signals, select.POLLIN)
        kernel.prctl(kernel.DUMPABLE, 0)  # no other process of our user may trace us or read our memory
        # A garbage collection writes to the header of every object. Each page that is written is a page that the
        # kernel must copy for the child, so freeze() hides what is loaded from the collector, here and in all children.
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
                elif descriptor in self.owners:  # not in it any more if an earlier event ended its template
                    self.handle_template(self.owners[descriptor], descriptor)
            self.check_deadlines()

    def check_deadlines(self) -> None:
        """Kill templates that have not forked in time, and have the others go on with what waits."""
        for instance, template in list(self.templates.items()):
            if not template.overdue():
                template.request_next_fork()
            elif kernel.is_stopped(template.pid):
                # No program can send SIGSTOP, so somebody outside stopped it and the program is not to blame.
                self.kill_template(instance, "", wire.HANG)
            else:
                self.kill_template(instance, "did not fork when asked to", wire.HANG)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the host."""
        self.control.send(json.dumps(message).encode())

    def send_exits(self, exits: list[list[Any]]) -> None:
        """Report exits. Each is an instance id, an exit status, and a fault's code and reason.

        Code and reason are empty where the exit status tells the whole story.
        """
        # A message of SOCK_SEQPACKET must fit into the socket's buffer as a whole, so many exits take several.
        for start in range(0, len(exits), MOST_DESCRIPTORS):
            self.send({"exits": exits[start : start + MOST_DESCRIPTORS]})

    def report_unborn(self, instance: int, code: str = "", reason: str = "") -> None:
        """Report that an instance could not be started. The host sees a child that was killed at birth."""
        self.send_exits([[instance, -signal.SIGKILL, code, reason]])

    def receive_order(self) -> tuple[dict[str, Any], array.array[int]]:
        """Return one order of the host and the descriptors that came with it. Ends this process if the host is gone."""
        data, ancillary, _, _ = self.control.recvmsg(1 << 16, socket.CMSG_SPACE(4 * MOST_DESCRIPTORS))
        if not data:
            self.end()
        sockets = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                # The kernel may cut the list short, even in the middle of a number.
                whole = len(content) - len(content) % sockets.itemsize
                sockets.frombytes(content[:whole])
        return json.loads(data), sockets

    def handle_order(self) -> None:
        """Carry out one order of the host."""
        order, sockets = self.receive_order()
        if order["do"] == "kill":
            for instance in order["ids"]:
                self.kill(instance)
            return
        if order["do"] == "cpu":
            for instance in order["ids"]:
                self.send({"cpu": [instance, *self.measure(instance)]})
            return
        (instance,) = order["ids"]
        if not sockets:
            # The kernel drops descriptors silently when the receiving process has reached its limit.
            self.report_unborn(instance)
        elif order["do"] == "fork":
            self.fork(order["template"], instance, sockets[0])
        else:
            self.spawn(instance, sockets[0], order)

    def measure(self, instance: int) -> tuple[float | None, bool]:
        """Return the CPU seconds of a child (None if they cannot be read), and whether somebody has stopped it."""
        pid = self.instances.get(instance)
        if pid is None:
            return None, False
        return kernel.cpu_clock(pid), kernel.is_stopped(pid)

    def spawn(self, instance: int, sock: int, order: dict[str, Any]) -> None:
        """Fork a child that has loaded no program yet. ``order`` has its limits, and whether it will be a template."""
        ours = theirs = None
        try:
            if order["template"]:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            pid = os.fork()
        except OSError:  # there are no more descriptors or processes
            for end in (ours, theirs):
                if end is not None:
                    end.close()
            os.close(sock)
            self.report_unborn(instance)
            return
        if pid == 0:
            self.become_child(sock, theirs, order["memory"])
        os.close(sock)
        # Parent and child both set the group. Whichever runs first, the group exists before either relies on it.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self.register(instance, pid)
        if ours is not None and theirs is not None:
            theirs.close()
            self.templates[instance] = Supervised(pid, ours, order["wall"])
            self.watch(instance)

    def become_child(self, sock: int, control: socket.socket | None, memory: int) -> NoReturn:
        """In a new child: confine this process and serve. Never returns."""
        self.report_to = sock
        try:
            # The child must not write to the zygote's wake-up pipe, which it inherited.
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
        """In a new child: arrange its descriptors, then give up every right that it does not need.

        Args:
            sock: the socket on which it serves the host.
            control: the line to this zygote, for a template; None for an ordinary child, which cannot fork.
            memory: bytes of address space above what it inherits.
        """
        if control is None:
            kernel.take_sockets([sock], self.null)
            kernel.limit_descriptors(wire.SOCKET + 1)
        else:
            # The zygote limits a template's descriptors later, when it has the listener (``Supervised.read_report``).
            # RLIMIT_NOFILE of a sender also bounds how many descriptors its user has in flight between processes, so a
            # template with a limit of six could be refused for what its siblings happen to be sending.
            kernel.take_sockets([sock, control.detach()], self.null)
        self.report_to = wire.SOCKET
        kernel.give_up_rights()
        kernel.limit(self.loaded_bytes + memory, kernel.LIFETIME_CPU)
        # The filter comes last, since it forbids all calls that were made until here.
        if control is None:
            if self.filter is not None:
                self.filter.install()
            return None
        template = Template()
        listener = -1 if self.asking_filter is None else self.asking_filter.install()
        template.hand_over(listener)
        return template

    def fork(self, template: int, instance: int, sock: int) -> None:
        """Have a template fork a play."""
        if template in self.templates:
            self.templates[template].request(instance, sock)
        else:
            os.close(sock)
            self.report_unborn(instance, wire.DIED, "its template is gone")

    def handle_template(self, instance: int, descriptor: int) -> None:
        """Handle what a template reports, or an attempt to fork by a process under its filter.

        A template runs untrusted code and may report anything. Whatever is wrong with a report ends this template and
        its plays, and nothing else.
        """
        template = self.templates[instance]
        if not kernel.is_readable(descriptor):
            # The event belonged to a descriptor that was closed since, and whose number was given out again.
            return
        if descriptor == template.listener:
            template.answer_fork_attempt()
            return
        try:
            born = template.read_report(self.pids, self.unannounced)
        except (EOFError, ConnectionError):
            # It is dead or about to be. ``reap`` or its deadline does the rest; polling on would spin until then.
            self.poll.unregister(descriptor)
            return
        except ChildProcessError as error:
            self.report_unborn(template.abandon_current(), wire.DIED, f"its template {error}")
            return
        except (ValueError, OSError) as error:
            self.kill_template(instance, str(error))
            return
        self.watch(instance)
        if born is None:
            return
        play, pid = born
        self.register(play, pid)
        # A short play can be dead, and even reaped, before its template's report is read.
        _, status = self.unannounced.pop(pid, (0, None))
        if status is not None:
            self.send_exits([self.unregister(pid, status)])

    def watch(self, instance: int) -> None:
        """Poll all descriptors that a template has so far: its control line, later its listener too."""
        for descriptor in self.templates[instance].descriptors():
            if descriptor not in self.owners:
                self.owners[descriptor] = instance
                self.poll.register(descriptor, select.POLLIN)

    def register(self, instance: int, pid: int) -> None:
        """Note that a child lives, and report its birth."""
        self.pids[pid] = instance
        self.instances[instance] = pid
        self.send({"born": [instance, pid]})

    def kill(self, instance: int) -> None:
        """Kill a child; its exit is reported when it is reaped."""
        if instance in self.instances:
            os.kill(self.instances[instance], signal.SIGKILL)

    def kill_template(self, instance: int, why: str, code: str = wire.DIED) -> None:
        """Kill a template and all that it has forked.

        Args:
            instance: the template.
            why: what it did; empty if its program is not to blame. SIGKILL alone reads as a death from outside.
            code: the fault of its plays.
        """
        template = self.templates[instance]
        fault = (code, f"its template {why}") if why else ("", "")
        if why:
            for pid, member in self.pids.items():
                if os.getpgid(pid) == template.pid:
                    self.reasons[member] = fault
        template.kill_all()
        pending = template.pending_instances()
        self.stop_watching(instance)
        self.send_exits([[member, -signal.SIGKILL, *fault] for member in pending])

    def stop_watching(self, instance: int) -> None:
        """Forget a template and close its descriptors. Its plays are not touched."""
        template = self.templates.pop(instance)
        for descriptor in template.descriptors():
            if self.owners.pop(descriptor, None) is not None:
                with contextlib.suppress(KeyError):
                    self.poll.unregister(descriptor)
        template.close()
        self.unannounced = {pid: dead for pid, dead in self.unannounced.items() if dead[0] != template.pid}

    def reap(self) -> None:
        """Collect the exit statuses of dead children and report them."""
        exits: list[list[Any]] = []
        while (pid := kernel.next_dead()) is not None:
            # The group tells which template forked the process. The kernel forgets it when the process is reaped.
            group = os.getpgid(pid)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            instance = self.pids.get(pid)
            if instance is None:
                # A play whose template has not reported it yet: ``handle_template`` reports its exit with its birth.
                self.unannounced[pid] = group, status
                continue
            exits.append(self.unregister(pid, status))
            if instance in self.templates:
                self.template_died(instance, status)
        self.send_exits(exits)

    def unregister(self, pid: int, status: int) -> list[Any]:
        """Forget a dead child and return the report of its exit, for ``send_exits``."""
        instance = self.pids.pop(pid)
        del self.instances[instance]
        return [instance, status, *self.reasons.pop(instance, ("", ""))]

    def template_died(self, instance: int, status: int) -> None:
        """Handle the death of a template. Its plays go on, unless it may have forked one that it did not report.

        Nothing would ever announce such a play, so the whole group is killed to be rid of it.
        """
        template = self.templates[instance]
        if template.forking < 0:
            self.stop_watching(instance)
        elif status == -signal.SIGKILL:
            # No program can send SIGKILL, so it came from outside and the program is not to blame.
            self.kill_template(instance, "")
        else:
            self.kill_template(instance, "died")

    def end(self) -> NoReturn:
        """End with all children, since the host is gone."""
        for pid in self.pids:
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:  # a play leads no group of its own
                os.kill(pid, signal.SIGKILL)
        os._exit(0)


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
