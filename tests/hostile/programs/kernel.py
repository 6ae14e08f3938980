"""System calls that no game needs."""

from __future__ import annotations

from programs.base import attack
from programs.system import raw

FATAL = "ENV208"
SHELLCODE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
page = libc.mmap(None, 4096, {protection}, 0x22, -1, 0)
if page == ctypes.c_void_p(-1).value:
    raise OSError(ctypes.get_errno(), 'stopped')
{then}
return 'executable memory'
"""
PROTECT = """
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
if libc.mprotect(page, 4096, 5) != 0:
    raise OSError(ctypes.get_errno(), 'stopped')
"""

PROGRAMS = (
    attack("writable and executable memory", SHELLCODE.format(protection=7, then="")),
    attack("make memory executable", SHELLCODE.format(protection=3, then=PROTECT)),
    attack("io_uring", "return syscall(425, 8, bytes(120)) + 1", FATAL),
    attack("io_uring_enter", "return syscall(426, 3, 1, 0, 0, 0, 0) + 1", FATAL),
    attack("bpf", raw(321, 280, "return syscall(number, 0, bytes(72), 72) + 1"), FATAL),
    attack("ptrace the parent", raw(101, 117, "return syscall(number, 16, 1, 0, 0) + 1"), FATAL),
    attack("read another process", raw(310, 270, "return syscall(number, @VICTIM@, 0, 0, 0, 0, 0) + 1"), FATAL),
    attack("mount", raw(165, 40, "return syscall(number, b'none', b'/', b'tmpfs', 0, 0) + 1"), FATAL),
    attack("chroot", "os.chroot('/')\nreturn 'there'", FATAL),
    attack("unshare a user namespace", raw(272, 97, "return syscall(number, 0x10000000) + 1"), FATAL),
    attack("join a namespace", raw(308, 268, "return syscall(number, 3, 0) + 1"), FATAL),
    attack("userfaultfd", raw(323, 282, "return syscall(number, 0) + 1"), FATAL),
    attack("perf_event_open", raw(298, 241, "return syscall(number, bytes(128), 0, -1, -1, 0) + 1"), FATAL),
    attack("keys", raw(250, 219, "return syscall(number, 0, -3, 1) + 1"), FATAL),
    attack("a filter of its own", raw(317, 277, "return syscall(number, 1, 0, bytes(16)) + 1"), FATAL),
    attack("personality", raw(135, 92, "return syscall(number, 0x0400000) + 1"), FATAL),
    attack("load a kernel module", raw(313, 273, "return syscall(number, 3, b'', 0) + 1"), FATAL),
    attack("steal a descriptor", "return syscall(438, 3, 3, 0) + 1", FATAL),
    attack("open by handle", raw(304, 265, "return syscall(number, 3, bytes(16), 0) + 1"), FATAL),
    attack(
        "x32 call",
        "if os.uname().machine != 'x86_64':\n    raise OSError\nreturn syscall(0x40000000 + 39) + 1",
        "ENV208 none",
    ),
    attack("a call number from the future", "return syscall(9999) + 1"),
    attack("a negative call number", "return syscall(-7) + 1", "none ENV208"),
    attack("memfd", raw(319, 279, "return syscall(number, b'x', 0) + 1")),
    attack("secret memory", "return syscall(447, 0) + 1"),
    attack("event descriptor", raw(290, 19, "return syscall(number, 0, 0) + 1")),
    attack("pipe", "return os.pipe()"),
    attack("terminal input", raw(16, 29, "return syscall(number, 0, 0x5412, b'x') + 1")),
    attack(
        "modify_ldt", "if os.uname().machine != 'x86_64':\n    raise OSError\nreturn syscall(154, 1, bytes(16), 16) + 1"
    ),
    attack(
        "set the clock",
        "import ctypes\nreturn syscall({'x86_64': 227, 'aarch64': 112}[os.uname().machine], 0, bytes(16)) + 1",
    ),
    attack(
        "pass a descriptor to the host",
        "import _socket\n_socket.socket(fileno=3).sendmsg([b''], [(1, 1, b'\\1\\0\\0\\0')])\nreturn None",
        "none ENV208",
    ),
)
