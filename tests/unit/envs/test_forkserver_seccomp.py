"""The filter, run instruction by instruction: what the kernel would decide, on either machine."""

from __future__ import annotations

import errno
import platform
import struct
from pathlib import Path

import pytest

from spadework.envs.sandbox.forkserver.inside import seccomp
from spadework.envs.sandbox.forkserver.inside.seccomp import ALLOW, ASK, AUDIT_ARCH, KILL, build, refuse
from spadework.envs.sandbox.forkserver.inside.syscalls import MACHINES, tables

EPERM = refuse(errno.EPERM)


def decide(code: bytes, machine: str, number: int, *arguments: int) -> int:
    """A classic BPF machine: the verdict on one call."""
    padded = (*arguments, *(0 for _ in range(6 - len(arguments))))
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, AUDIT_ARCH[machine], 0, *(value % (1 << 64) for value in padded))
    program = list(struct.iter_unpack("<HBBI", code))
    at = accumulator = 0
    while True:
        operation, yes, no, operand = program[at]
        at += 1
        if operation == seccomp.RETURN:
            return operand
        if operation == seccomp.LOAD:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif operation == seccomp.JUMP:
            at += operand
        else:
            tests = {seccomp.EQUAL: accumulator == operand, seccomp.AT_LEAST: accumulator >= operand}
            tests[seccomp.ANY_BIT] = bool(accumulator & operand)
            at += yes if tests[operation] else no


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("ask", [False, True])
def test_every_number_gets_its_verdict(machine: str, ask: bool) -> None:
    code, kinds = build(machine, ask_to_fork=ask), tables(machine)
    expected = dict.fromkeys(kinds["allowed"].values(), ALLOW) | dict.fromkeys(kinds["fatal"].values(), KILL)
    for kind, number in (("eacces", errno.EACCES), ("enotty", errno.ENOTTY), ("enosys", errno.ENOSYS)):
        expected |= dict.fromkeys(kinds[kind].values(), refuse(number))
    conditional = set(kinds["conditional"].values())
    for number in range(1200):
        if number not in conditional:
            assert decide(code, machine, number) == expected.get(number, EPERM), number
    for number in (-1, -7, 1 << 30, (1 << 30) + 39, 1 << 31):
        assert decide(code, machine, number) in ({KILL} if machine == "x86_64" else {EPERM})


def test_no_name_is_in_two_lists_and_no_number_has_two_names(machine: str) -> None:
    names = [name for table in tables(machine).values() for name in table]
    numbers = [number for table in tables(machine).values() for number in table.values()]
    assert len(set(names)) == len(names)
    assert len(set(numbers)) == len(numbers)


def test_another_machine_is_killed(machine: str) -> None:
    other = MACHINES[1 - MACHINES.index(machine)]
    assert decide(build(machine, ask_to_fork=False), other, 0) == KILL


def test_conditions(machine: str) -> None:
    code, number = build(machine, ask_to_fork=False), tables(machine)["conditional"]

    def verdict(name: str, *arguments: int) -> int:
        return decide(code, machine, number[name], *arguments)

    private, shared, validated = 0x22, 0x21, 0x23
    assert verdict("mmap", 0, 4096, 3, private) == ALLOW
    assert verdict("mmap", 0, 4096, 7, private) == EPERM
    assert verdict("mmap", 0, 4096, 3, shared) == EPERM
    assert verdict("mmap", 0, 4096, 3, validated) == EPERM
    assert verdict("mprotect", 0, 4096, 3) == ALLOW
    assert verdict("mprotect", 0, 4096, 5) == EPERM
    assert [verdict("fcntl", 3, command) for command in (1, 3)] == [ALLOW, ALLOW]
    assert [verdict("fcntl", 3, command) for command in (0, 2, 4, 1030)] == [EPERM] * 4
    assert verdict("prctl", 1, 9) == ALLOW
    assert [verdict("prctl", 1, 0), verdict("prctl", 4, 1), verdict("prctl", 22, 9)] == [EPERM] * 3
    assert verdict("prlimit64", 0, 7, 0, 1) == ALLOW
    assert [verdict("prlimit64", 1, 7, 0), verdict("prlimit64", 0, 7, 1), verdict("prlimit64", 0, 7, 1 << 32)] == [
        EPERM
    ] * 3


def test_only_templates_ask_to_fork(machine: str) -> None:
    clone = tables(machine)["conditional"]["clone"]
    assert decide(build(machine, ask_to_fork=False), machine, clone, 17) == EPERM
    assert decide(build(machine, ask_to_fork=True), machine, clone, 17) == ASK


def test_the_search_is_shallow(machine: str) -> None:
    """The kernel runs the filter once for each number when it is installed."""
    code = build(machine, ask_to_fork=True)
    assert len(code) // 8 < 500


@pytest.mark.parametrize(
    ("machine_of_header", "header"),
    [("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "/usr/include/asm-generic/unistd.h")],
)
def test_numbers_are_those_of_the_headers(machine_of_header: str, header: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"no {header} here")
    words = (line.split() for line in Path(header).read_text().splitlines())
    defined = {
        word[1].replace("__NR3264_", "__NR_"): word[2] for word in words if len(word) >= 3 and word[0] == "#define"
    }
    aliases = {"newfstatat": "fstatat"}
    for table in tables(machine_of_header).values():
        for name, number in table.items():
            found = defined.get(f"__NR_{name}", defined.get(f"__NR_{aliases.get(name, name)}"))
            if found is not None and found.isdigit():
                assert int(found) == number, name


def test_this_machine_is_supported() -> None:
    assert seccomp.supported() == (platform.machine() in MACHINES)
