"""Files, the network, the environment, other instances."""

from __future__ import annotations

from programs.base import attack

FILES = (
    attack("open a file", "return open('@SECRET@').read()"),
    attack("os.open a file", "return os.read(os.open('@SECRET@', os.O_RDONLY), 99)"),
    attack("read the password file", "return open('/etc/passwd').read()"),
    attack("write a file", "return open('@DIRECTORY@/written', 'w').write('x')"),
    attack("list the root", "return os.listdir('/')"),
    attack("walk", "return list(os.walk('/'))[0][1:] if list(os.walk('/')) else None"),
    attack("read /proc/self", "return open('/proc/self/maps').read()"),
    attack("read the host's environment", "return open('/proc/@VICTIM@/environ', 'rb').read()"),
    attack("read the host's memory", "return open('/proc/@VICTIM@/mem', 'rb').read(1)"),
    attack(
        "follow a symbolic link", "os.symlink('@SECRET@', '@DIRECTORY@/link')\nreturn open('@DIRECTORY@/link').read()"
    ),
    attack("make a hard link", "os.link('@SECRET@', '@DIRECTORY@/hard')\nreturn 'linked'"),
    attack("raw openat", "return syscall({'x86_64': 257, 'aarch64': 56}[os.uname().machine], -100, b'@SECRET@', 0)"),
    attack("raw openat2", "return syscall(437, -100, b'@SECRET@', bytes(24), 24)"),
    attack("make a folder", "os.mkdir('@DIRECTORY@/made')\nreturn 'made'"),
    attack("delete", "os.unlink('@SECRET@')\nreturn 'deleted'"),
    attack("rename", "os.rename('@SECRET@', '@DIRECTORY@/renamed')\nreturn 'renamed'"),
    attack("truncate", "os.truncate('@SECRET@', 0)\nreturn 'truncated'"),
    attack("change modes", "os.chmod('@SECRET@', 0o777)\nreturn 'changed'"),
    attack("change the folder", "os.chdir('@DIRECTORY@')\nreturn 'there'"),
    attack(
        "SQLite file", "import sqlite3\nsqlite3.connect('@DIRECTORY@/db').execute('create table t (x)')\nreturn 'db'"
    ),
    attack(
        "SQLite attach",
        "import sqlite3\nsqlite3.connect(':memory:').execute(\"attach '@DIRECTORY@/db' as d\")\nreturn 'db'",
    ),
    attack("numpy file", "np.save('@DIRECTORY@/array.npy', np.zeros(3))\nreturn 'saved'"),
    attack("numpy memory map", "return np.memmap('@SECRET@', mode='r')[:4].tobytes()"),
    attack("import a module from disk", "sys.path.append('@DIRECTORY@')\nimport planted\nreturn planted.__file__"),
    attack("extended attributes", "return os.getxattr('@SECRET@', 'user.x')"),
    attack("inotify", "return syscall({'x86_64': 294, 'aarch64': 26}[os.uname().machine], 0) + 1"),
)

CONNECT = """
import _socket
sock = _socket.socket({family}, {kind})
sock.{verb}
return 'sent'
"""
NETWORK = (
    attack("TCP", CONNECT.format(family=2, kind=1, verb="connect(('127.0.0.1', @TCP@))")),
    attack("UDP", CONNECT.format(family=2, kind=2, verb="sendto(b'x', ('127.0.0.1', @UDP@))")),
    attack("abstract socket", CONNECT.format(family=1, kind=1, verb="connect('\\\\0@ABSTRACT@')")),
    attack("raw IP", CONNECT.format(family=2, kind=3, verb="sendto(b'x', ('127.0.0.1', 0))")),
    attack("netlink", CONNECT.format(family=16, kind=3, verb="bind((0, 0))")),
    attack("DNS", "import _socket\nreturn _socket.getaddrinfo('localhost.example', 80)"),
    attack("raw socket call", "return syscall({'x86_64': 41, 'aarch64': 198}[os.uname().machine], 2, 2, 0) + 1"),
    attack("vsock", "return syscall({'x86_64': 41, 'aarch64': 198}[os.uname().machine], 40, 1, 0) + 1"),
    attack(
        "connect our own socket anew",
        "import _socket\n_socket.socket(fileno=3).connect(('127.0.0.1', @TCP@))\nreturn 'sent'",
    ),
)

NEIGHBOURS = (
    attack("environment variables", "return [value for value in os.environ.values() if 'CANARY' in value]"),
    attack(
        "gc walk",
        "import gc\nme = '@' + 'BYSTANDER' + '@'\nreturn [x for x in gc.get_objects() if isinstance(x, dict) and 'bystander_secret' in x.keys()][:1]",
    ),
    attack(
        "frame walk",
        """
        frame, found = sys._getframe(), []
        while frame:
            found += [name for name in frame.f_globals if name == 'BystanderEnv']
            frame = frame.f_back
        return found
        """,
    ),
    attack(
        "heap walk",
        """
        import ctypes
        start, needle = id(object()), b'CANARY' + b'-of-the-bystander'
        return needle in ctypes.string_at(start - (start % 4096), 4096)
        """,
        "none ENV208",
    ),
    attack(
        "loaded modules", "return [name for name, module in sys.modules.items() if hasattr(module, 'BystanderEnv')]"
    ),
    attack("subclasses of object", "return [c for c in object.__subclasses__() if c.__name__ == 'BystanderEnv']"),
)

PROGRAMS = FILES + NETWORK + NEIGHBOURS
