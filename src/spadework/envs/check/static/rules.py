"""Rules over the syntax tree: imports, I/O, evaluated player text, loops without end, seeds and shared state."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from spadework.envs.check.findings import Finding
from spadework.envs.check.static import reflection
from spadework.envs.check.static.taint import player_format_calls, player_text_calls
from spadework.envs.check.syntax import Function, Program, dotted, parameters
from spadework.envs.contract import ALLOWED_IMPORTS

_NETWORK = frozenset(
    "aiohttp asyncio ftplib http httpx imaplib poplib requests smtplib socket socketserver ssl telnetlib urllib "
    "urllib3 websockets xmlrpc".split()
)
_IO_CALLS = frozenset(
    "open io.open io.FileIO io.open_code breakpoint exit quit os.system os.popen sys.exit np.load numpy.load np.save "
    "numpy.save np.savez numpy.savez np.savetxt numpy.savetxt np.loadtxt numpy.loadtxt np.genfromtxt numpy.genfromtxt "
    "np.fromfile numpy.fromfile np.memmap numpy.memmap".split()
)
_EVALUATORS = frozenset({"eval", "exec", "compile", "__import__"})
_UNSEEDED_CALLS = frozenset(
    "random.SystemRandom uuid.uuid1 uuid.uuid4 uuid4 time.time time.time_ns time.perf_counter time.perf_counter_ns "
    "time.monotonic time.monotonic_ns time.process_time time.process_time_ns time.clock_gettime datetime.now "
    "datetime.datetime.now datetime.utcnow datetime.datetime.utcnow datetime.today datetime.datetime.today date.today "
    "datetime.date.today os.urandom".split()
)
_TIME_AT = {"time.asctime": 0, "time.ctime": 0, "time.localtime": 0, "time.gmtime": 0, "time.strftime": 1}
"""Functions of a time that take the present where they are given no more arguments than this."""
_GENERATORS = frozenset(
    "random.Random Random random.seed numpy.random.default_rng np.random.default_rng numpy.random.RandomState "
    "numpy.random.SeedSequence".split()
)
_MUTATORS = frozenset("append extend insert add update pop remove clear setdefault discard popitem sort".split())


def check(program: Program) -> Iterator[Finding]:
    """Findings of the families ENV1xx and ENV3xx that need no tool schema."""
    names = reflection.aliases(program)
    for node in program.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)
        elif isinstance(node, ast.Call):
            yield from _call(node)
            yield from _unseeded(node, names)
        elif isinstance(node, ast.While):
            yield from _endless(node)
    for call in player_text_calls(program, _EVALUATORS):
        yield Finding("ENV106", f"{dotted(call.func)}() is given text of the player", call.lineno)
    for call in player_format_calls(program):
        yield Finding("ENV106", "text of the player is used as a format, which can name any attribute", call.lineno)
    yield from reflection.check(program)
    yield from _unused(program)
    yield from _global_random(program)
    yield from _shared_state(program)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = ["." * node.level + (node.module or "")]
    for name in names:
        root = name.split(".")[0]
        if root in _NETWORK:
            yield Finding("ENV105", f"{name} is imported", node.lineno)
        elif root not in ALLOWED_IMPORTS:
            yield Finding("ENV101", f"{name} is imported, which the sandbox does not load", node.lineno)


def _call(node: ast.Call) -> Iterator[Finding]:
    name = dotted(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name == "input":
        yield Finding("ENV102", "input() is called", node.lineno)
    elif name in _IO_CALLS or method in {"read_text", "write_text", "tofile"}:
        yield Finding("ENV103", f"{name or method}() is called", node.lineno)
    elif name == "print":
        yield Finding("ENV104", "print() is called", node.lineno)
    elif name in _EVALUATORS:
        yield Finding("ENV107", f"{name}() is called", node.lineno)
    elif name == "sqlite3.connect" and not _in_memory(node):
        yield Finding("ENV103", "sqlite3.connect() is given something other than ':memory:'", node.lineno)


def _unseeded(node: ast.Call, names: dict[str, str]) -> Iterator[Finding]:
    """Clocks and entropy, under whatever name they were imported."""
    name = reflection.resolve(node.func, names) or dotted(node.func)
    given = len(node.args) + len(node.keywords)
    if name in _UNSEEDED_CALLS or name.startswith("secrets."):
        yield Finding("ENV303", f"{name}() differs from run to run outside of the sandbox", node.lineno)
    elif given == _TIME_AT.get(name, -1):
        yield Finding("ENV303", f"{name}() is given no time and takes the present", node.lineno)
    elif name in _GENERATORS and not given:
        yield Finding("ENV303", f"{name}() is given no seed", node.lineno)
    elif name.rpartition(".")[2] == "datetime64" and any(_is_present(argument) for argument in node.args):
        yield Finding("ENV303", f"{name}() is given the present, which numpy reads from the real clock", node.lineno)
    elif name in ("np.ndarray", "numpy.ndarray") and len(node.args) < 3 and "buffer" not in _keywords(node):
        yield Finding("ENV303", f"{name}() holds whatever was in memory before", node.lineno)


def _is_present(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("now", "today")


def _keywords(node: ast.Call) -> set[str | None]:
    return {keyword.arg for keyword in node.keywords}


def _in_memory(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == ":memory:"


def _endless(node: ast.While) -> Iterator[Finding]:
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return
    pending: list[tuple[ast.AST, bool]] = [(child, True) for child in node.body]
    while pending:
        child, own = pending.pop()
        if isinstance(child, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom) or (
            own and isinstance(child, ast.Break)
        ):
            return
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        own_below = own and not isinstance(child, ast.For | ast.While)
        pending += [(below, own_below) for below in ast.iter_child_nodes(child)]
    yield Finding("ENV110", "while True has no break, return or raise", node.lineno)


def _names(function: Function) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _unused(program: Program) -> Iterator[Finding]:
    step = program.methods.get("step")
    if step and (names := parameters(step)) and names[0] not in _names(step):
        yield Finding("ENV109", f"step never looks at {names[0]}", step.lineno)
    reset = program.methods.get("reset")
    if reset is None or reset.args.kwarg or reset.args.vararg:
        return
    taken = [name for name in parameters(reset) if name == "seed"] or parameters(reset)[:1]
    if not taken:
        yield Finding("ENV301", "reset takes no seed", reset.lineno)
    elif taken[0] not in _names(reset):
        yield Finding("ENV301", f"reset never looks at {taken[0]}", reset.lineno)


def _global_random(program: Program) -> Iterator[Finding]:
    """Draws from the module's own generator where nothing seeds it from the episode's seed."""
    calls = [node for node in program.nodes if isinstance(node, ast.Call)]
    for module, seeding in (("random.", "random.seed"), ("np.random.", "np.random.seed")):
        if any(dotted(call.func) == seeding for call in calls):
            continue
        for call in calls:
            name = dotted(call.func)
            draws = name.startswith(module) and name.count(".") == module.count(".") and name not in _GENERATORS
            if draws and name not in _UNSEEDED_CALLS:
                yield Finding("ENV303", f"{name}() draws from the global generator", call.lineno)
                break


def _shared_state(program: Program) -> Iterator[Finding]:
    for node in program.nodes:
        if isinstance(node, ast.Global):
            yield Finding("ENV304", f"{', '.join(node.names)} is written through global", node.lineno)
    for cls in program.lineage:
        shared = {
            target.id: statement.lineno
            for statement in cls.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List | ast.Dict | ast.Set)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        own = _assigned_attributes(cls)
        for name in sorted(_mutated_attributes(cls) & set(shared) - own):
            yield Finding("ENV304", f"{cls.name}.{name} is changed by every instance", shared[name])


def _assigned_attributes(cls: ast.ClassDef) -> set[str]:
    return {
        node.attr
        for node in ast.walk(cls)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node.value) == "self"
    }


def _mutated_attributes(cls: ast.ClassDef) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(cls):
        holder: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            holder = node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            holder = node.value
        if isinstance(holder, ast.Attribute) and dotted(holder.value) in {"self", "cls", cls.name}:
            found.add(holder.attr)
    return found
