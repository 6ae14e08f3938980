"""What the command line says, in one line, when the system and not the user's input is at fault."""

from __future__ import annotations

import errno
import os
import sys

from spadework.errors import SpadeworkError

WAYS_OUT = {
    errno.ENOSPC: "make room there and run the same command again; a run goes on with --resume",
    errno.EDQUOT: "make room there and run the same command again; a run goes on with --resume",
    errno.EMFILE: "allow more (ulimit -n 4096), or do less at once (play.concurrency, sandbox.max_instances, --jobs)",
    errno.ENFILE: "close other programs, or do less at once (play.concurrency, sandbox.max_instances, --jobs)",
    errno.EAGAIN: "allow more processes (ulimit -u), or do less at once (sandbox.max_instances, --jobs)",
    errno.EACCES: "change its rights, or name another place",
    errno.EPERM: "change its rights, or name another place",
    errno.EROFS: "name another place",
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "a part of this path is a file; name another place",
    errno.EISDIR: "name a file, not a folder",
    errno.EEXIST: "something else is there; name another place",
    errno.ENAMETOOLONG: "give a shorter name",
}
"""Error number -> what to do about it."""
_WAYS_OUT_OF_SQLITE = {
    "database or disk is full": "make room there and go on with --resume",
    "database is locked": "another process writes this run; wait for it, or stop it",
    "attempt to write a readonly database": "change its rights, or copy the run",
}


def one_line(error: BaseException) -> str | None:
    """What to print for an error that a user can do something about; ``None`` for one that only a developer can.

    Of a group of errors the first is told.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SpadeworkError):
        return str(error)
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, UnicodeEncodeError | UnicodeDecodeError) and sys.getfilesystemencoding() != "utf-8":
        return f"the locale cannot spell a path or a text ({error.reason}); set LC_ALL=C.UTF-8"
    if _is_from("sqlite3", "Error", error):
        return f"a run's database: {error}; {_WAYS_OUT_OF_SQLITE.get(str(error), 'copy the run back from a backup')}"
    if _is_from("pyarrow", "ArrowException", error):
        return f"a Parquet file cannot be read or written: {_first_line(error)}"
    return None


def _of_system(error: OSError) -> str | None:
    if error.errno not in WAYS_OUT:
        return None
    name = error.filename2 or error.filename
    what = os.strerror(error.errno)
    where = f"{os.fsdecode(name)}: " if isinstance(name, str | bytes | os.PathLike) else ""
    return f"{where}{what}; {WAYS_OUT[error.errno]}"


def _is_from(module: str, name: str, error: BaseException) -> bool:
    """Whether it is an error of a module that this process has loaded; importing it here would slow ``--help``."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None) or getattr(getattr(loaded, "lib", None), name, None)
    return isinstance(kind, type) and isinstance(error, kind)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
