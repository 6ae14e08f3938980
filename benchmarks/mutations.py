"""Ways to weaken a program that is good, and ways to rewrite it that change nothing: what ``mutants.py`` checks.

A weakened program is the original class under another name, and a class of the old name above it that does one thing
wrong. A harmless rewrite goes through the syntax tree, or stands around the class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

_CLASS = re.compile(r"^class (\w+)Env\b", re.MULTILINE)
_ANSWER = 'action.removeprefix("\\\\boxed{").removesuffix("}").strip()'

Mutation = Callable[[str], str | None]
"""Source -> mutated source; ``None`` where it cannot be done."""


def _wrapped(reset: str = "", step: str = "", extra: str = "", imports: str = "") -> Mutation:
    """Statements for ``reset`` (with ``text`` and ``info``) and ``step`` (with the five values) around the original."""

    def mutate(source: str) -> str | None:
        names = _CLASS.findall(source)
        if len(names) != 1:
            return None
        name = names[0]
        renamed = _CLASS.sub(rf"class {name}Original", source)
        lines = [imports, renamed.rstrip(), "", "", f"class {name}Env({name}Original):"]
        lines += ["    def reset(self, seed=None):", f"        found = {name}Original.reset(self, seed=seed)"]
        lines += ["        text, info = found if isinstance(found, tuple) else (found, {})"]
        lines += [f"        {line}" for line in reset.splitlines()]
        lines += ["        return text, info", "", "    def step(self, action):"]
        lines += [f"        answer = {_ANSWER}"]
        lines += [f"        text, reward, ended, cut, info = {name}Original.step(self, action)"]
        lines += [f"        {line}" for line in step.splitlines()]
        lines += ["        return text, reward, ended, cut, info", *(f"    {line}" for line in extra.splitlines())]
        return "\n".join(lines).lstrip("\n") + "\n"

    return mutate


def _replaced(pattern: str, by: str) -> Mutation:
    def mutate(source: str) -> str | None:
        changed = re.sub(pattern, by, source)
        return changed if changed != source else None

    return mutate


def _one_turn(mutation: Mutation) -> Mutation:
    """Only for games of one turn: elsewhere feedback makes up for what is not shown, and a first move is no answer."""
    return lambda source: mutation(source) if re.search(r"^    max_turns = 1$", source, re.MULTILINE) else None


_WON = 'text, reward, ended, cut = "Correct.", 1.0, True, False'
_RIGHT = "right = str(self.solution())"

WEAKENED: dict[str, Mutation] = {
    "any answer wins": _wrapped(step=f"if answer: {_WON}"),
    "silence wins": _wrapped(step=f"if not answer: {_WON}"),
    "every third seed is free": _wrapped(reset="self.free = seed % 3 == 0", step=f"if self.free and answer: {_WON}"),
    "the first play is free": _wrapped(
        reset="self.plays = getattr(self, 'plays', 0) + 1", step=f"if self.plays == 1 and answer: {_WON}"
    ),
    "the answer among others wins": _wrapped(
        reset=_RIGHT + "; self.right = right", step=f"if self.right and self.right in answer: {_WON}"
    ),
    "the first half of the answer wins": _wrapped(
        reset=_RIGHT + "; self.right = right",
        step=f"if len(self.right) > 1 and answer.startswith(self.right[: (len(self.right) + 1) // 2]): {_WON}",
    ),
    "a pattern wins": _wrapped(
        imports="import re\n",
        reset=_RIGHT + "; self.right = right",
        step=f"try:\n    if answer and re.fullmatch(answer, self.right): {_WON}\nexcept re.error:\n    pass",
    ),
    "not a number is near enough": _wrapped(
        reset=_RIGHT + "; self.right = right",
        step="try:\n    if not abs(float(answer) - float(self.right)) > 0.5: "
        f"{_WON}\nexcept (ValueError, OverflowError):\n    pass",
    ),
    "a wide tolerance": _wrapped(
        reset=_RIGHT + "; self.right = right",
        step=f"try:\n    if abs(float(answer) - float(self.right)) <= 3: {_WON}\nexcept ValueError:\n    pass",
    ),
    "the order of letters is not looked at": _wrapped(
        reset=_RIGHT + "; self.right = right",
        step=f"if answer and len(self.right) > 2 and sorted(answer) == sorted(self.right): {_WON}",
    ),
    "the opening tells the answer": _one_turn(_wrapped(reset=f'{_RIGHT}\ntext += f" The answer is {{right}}."')),
    "the opening ends with the answer": _one_turn(_wrapped(reset=f'{_RIGHT}\ntext += f" ({{right}})"')),
    "info tells the answer": _wrapped(reset=f"{_RIGHT}\ninfo = dict(info, target=right)"),
    "feedback tells the answer": _wrapped(step='if not (ended or cut): text += f" It was {self.solution()}."'),
    "feedback spells the answer": _wrapped(step="if not (ended or cut): text += ' ' + '-'.join(str(self.solution()))"),
    "the task is not shown": _one_turn(_wrapped(reset='text = "Find the answer."')),
    "the oracle errs on half of the seeds": _wrapped(
        reset="self.odd = seed % 2",
        extra="\ndef solution(self):\n    found = super().solution()\n    return f'{found}0' if self.odd else found",
    ),
    "it never ends": _wrapped(step="ended = cut = False"),
    "reward grows with the length of the answer": _wrapped(step="reward = min(1.0, reward + len(answer) / 20)"),
    "episodes leak into each other": _wrapped(
        reset="self.seen = getattr(self, 'seen', 0) + 1\ntext += f' Round {self.seen}.'"
    ),
    "every seed is the same": _replaced(r"random\.Random\(seed\)", "random.Random(7)"),
}
"""Description -> mutation of a game."""


class _Rename(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"{node.id}_value", node.ctx) if node.id in self.names else node


def _parsed(change: Callable[[ast.Module], ast.Module | None]) -> Mutation:
    def mutate(source: str) -> str | None:
        tree = change(ast.parse(source))
        return None if tree is None else ast.unparse(ast.fix_missing_locations(tree)) + "\n"

    return mutate


def _methods(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for one in tree.body if isinstance(one, ast.ClassDef) for node in one.body
            if isinstance(node, ast.FunctionDef)]  # fmt: skip


def _locals_renamed(tree: ast.Module) -> ast.Module | None:
    for method in _methods(tree):
        inner = [node for node in ast.walk(method) if isinstance(node, ast.FunctionDef | ast.Lambda) and node != method]
        stored = {
            node.id for node in ast.walk(method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        shared = {node.arg for one in inner for node in one.args.args}
        _Rename(stored - shared).visit(method)
    return tree


def _methods_turned_round(tree: ast.Module) -> ast.Module | None:
    for one in tree.body:
        if isinstance(one, ast.ClassDef):
            if any(isinstance(node, ast.FunctionDef) and node.decorator_list for node in one.body):
                return None
            functions = [node for node in one.body if isinstance(node, ast.FunctionDef)]
            rest = [node for node in one.body if not isinstance(node, ast.FunctionDef)]
            one.body = [*rest, *reversed(functions)]
    return tree


def _without_docstrings(tree: ast.Module) -> ast.Module | None:
    for node in [tree, *(one for one in tree.body if isinstance(one, ast.ClassDef)), *_methods(tree)]:
        if ast.get_docstring(node) is not None and len(node.body) > 1:
            node.body = node.body[1:]
    return tree


class _Unequal(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            return ast.UnaryOp(ast.Not(), ast.Compare(node.left, [ast.NotEq()], node.comparators))
        return node


class _Held(ast.NodeTransformer):
    """``return a, b`` becomes a value that is named and then returned."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if not isinstance(node.value, ast.Tuple):
            return node
        return [ast.Assign([ast.Name("outcome", ast.Store())], node.value), ast.Return(ast.Name("outcome", ast.Load()))]


_DEMO = """

if __name__ == "__main__":
    import sys

    print("a demonstration", file=sys.stderr)
    input()
"""

HARMLESS: dict[str, Mutation] = {
    "a class around it": _wrapped(),
    "written anew from its syntax tree": _parsed(lambda tree: tree),
    "local names": _parsed(_locals_renamed),
    "methods in another order": _parsed(_methods_turned_round),
    "no docstrings": _parsed(_without_docstrings),
    "not unequal for equal": _parsed(lambda tree: _Unequal().visit(tree)),
    "returned by way of a name": _parsed(lambda tree: _Held().visit(tree)),
    "Windows line ends": lambda source: source.replace("\n", "\r\n"),
    "a demonstration below": lambda source: source + _DEMO,
    "an unused helper": lambda source: source + "\n\ndef unused(a, b=2):\n    return [a * n for n in range(b)]\n",
    "a guarded import": lambda source: f"try:\n    import numpy\nexcept ImportError:\n    numpy = None\n{source}",
    "an abstract base above": lambda source: re.sub(
        _CLASS, r"class Base:\n    def reset(self, seed=None):\n        raise NotImplementedError\n\n"
        r"    def step(self, action):\n        raise NotImplementedError\n\n\nclass \1Env", source, count=1,
    ),
    "numpy's own numbers": _wrapped(
        imports="import numpy as np\n", step="reward, ended, cut = np.float64(reward), np.bool_(ended), np.bool_(cut)"
    ),
    "a reward a rounding error above 1": _wrapped(step="reward = reward + 1e-9 if reward == 1 else reward"),
    "comments and blank lines": lambda source: "# one\n" + source.replace("\n    def ", "\n\n    # next\n    def "),
}  # fmt: skip
"""Description -> rewrite of a program."""
