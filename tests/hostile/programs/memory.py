"""Memory: the limit is 256 MiB above the empty interpreter."""

from __future__ import annotations

from programs.base import program

PROGRAMS = (
    program("one huge list", "return [0] * 10 ** 10", "ENV206"),
    program("one huge string", "return 'x' * (1 << 34), 0, False, False, {}", "ENV206"),
    program("a huge integer", "return str(1 << (1 << 36)), 0, False, False, {}", "ENV206 ENV201"),
    program("huge at load", "return", "ENV206", head="x = bytearray(1 << 33)"),
    program("huge in reset", "return", "ENV206", reset="x = bytearray(1 << 33)\nreturn 'ready'"),
    program(
        "doubling lists that swallow MemoryError",
        """
        hoard = [0]
        while True:
            try:
                hoard += hoard
            except MemoryError:
                pass
        """,
        "ENV205 ENV206",
    ),
    program("many small objects", "hoard = []\nwhile True: hoard.append([object()])", "ENV206 ENV205"),
    program("many small at load", "return", "ENV206 ENV205", head="hoard = []\nwhile True: hoard.append({})"),
    program("a numpy array", "return str(np.ones(1 << 31)), 0, False, False, {}", "ENV206 ENV201"),
    program(
        "touch every page", "x = np.ones(1 << 24)\nhoard = []\nwhile True: hoard.append(x.copy())", "ENV206 ENV201"
    ),
    program(
        "shared mappings",
        """
        import ctypes
        mmap = ctypes.CDLL(None).mmap
        mmap.restype = ctypes.c_void_p
        size = ctypes.c_size_t(1 << 24)
        got = [mmap(None, size, 3, 0x21, -1, ctypes.c_long(0)) != ctypes.c_void_p(-1).value for _ in range(100)]
        return ("ESCAPED: shared mappings" if any(got) else "stopped"), 0, False, False, {}
        """,
        "none",
    ),
    program(
        "System V shared memory",
        """
        import ctypes, os
        number = {'x86_64': 29, 'aarch64': 194}[os.uname().machine]
        got = ctypes.CDLL(None).syscall(number, 0, 1 << 20, 0o1600)
        return ("ESCAPED: a segment" if got >= 0 else "stopped"), 0, False, False, {}
        """,
        "none",
    ),
    program(
        "deep recursion",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return f() + 1\nf()",
        "ENV206 ENV208 ENV201 ENV205",
    ),
    program(
        "deep C recursion",
        "x = []\nfor _ in range(10 ** 6): x = [x]\nreturn repr(x), 0, False, False, {}",
        "ENV201 ENV205 ENV206 ENV208",
    ),
)
