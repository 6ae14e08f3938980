"""What an installation weighs and how soon it answers: a wheel of this checkout in fresh virtual environments.

Sizes are those of ``site-packages`` without pip. A start is the time of the command in a warm cache, least of five,
less that of a bare ``python -c pass``. The full run installs the extras too; ``--python`` takes other interpreters.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from figures import Figure, machine, most, parser, show, told

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("math", "study", "viewer", "local")
STARTS = 5


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("spadework-*.whl")
    return wheel


def install(python: str, folder: Path, wheel: Path, extra: str = "") -> Path:
    """The interpreter of a new virtual environment that holds the wheel with an extra."""
    _run([python, "-m", "venv", str(folder)])
    own = folder / "bin" / "python"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    _run([str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *constraints, wanted])
    return own


def weigh(python: Path) -> float:
    """MiB of what is installed, without pip itself."""
    (packages,) = python.parent.parent.glob("lib/python*/site-packages")
    parts = [part for part in packages.iterdir() if not part.name.startswith(("pip", "setuptools"))]
    files = [file for part in parts for file in ([part] if part.is_file() else part.rglob("*")) if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20


def start_seconds(python: Path, arguments: Sequence[str]) -> float:
    """The least time that the interpreter takes for ``arguments``, beyond what it takes for nothing."""
    return _least(python, arguments) - _least(python, ["-c", "pass"])


def _least(python: Path, arguments: Sequence[str]) -> float:
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        _run([str(python), *arguments])
        times.append(time.perf_counter() - began)
    return min(times)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=tempfile.gettempdir())
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


def measure(pythons: Sequence[str], extras: Sequence[str]) -> Iterator[Figure]:
    """Figures of the base for every interpreter, and of the extras for the first."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        yield most("the wheel", wheel.stat().st_size / 2**20, "MiB", 5)
        for number, python in enumerate(pythons):
            own = install(python, folder / str(number), wheel)
            yield from _base(own)
        for extra in extras:
            size = weigh(install(pythons[0], folder / extra, wheel, extra))
            yield told(f"spadework[{extra}], installed", size, "MiB")


def _base(python: Path) -> Iterable[Figure]:
    version = subprocess.check_output([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True)
    where = f"Python {version.strip()}"
    yield most(f"{where}: spadework, installed", weigh(python), "MiB", 398)
    yield most(f"{where}: import spadework", start_seconds(python, ["-c", "import spadework"]), "s", 0.1)
    yield most(f"{where}: spadework --help", start_seconds(python, ["-m", "spadework", "--help"]), "s", 0.5)


def main() -> int:
    """Parse the options and print the figures."""
    made = parser(__doc__, "the base alone")
    made.add_argument("--python", action="append", metavar="PATH", help="an interpreter; may be given several times")
    options = made.parse_args()
    if not options.json:
        print(machine())
    return 0 if show(measure(options.python or [sys.executable], () if options.quick else EXTRAS), options.json) else 1


if __name__ == "__main__":
    raise SystemExit(main())
