"""LiveCodeBench's rows in the true format: right programs pass, wrong, slow and prying ones do not."""

import base64
import dataclasses
import json
import pickle
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spadework.envs.sandbox.base import Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.errors import ConfigError
from spadework.evals.contamination import suite_texts
from spadework.evals.records import SuiteResult
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.evals.runner import Where, run_benchmark
from spadework.evals.suites import livecodebench as lcb
from spadework.testing.scripted import ScriptedPolicy

SUM = {
    "question_id": "abc1",
    "question_content": "Print the sum of each line.",
    "starter_code": "",
    "difficulty": "easy",
}
TWICE = {
    "question_id": "3001",
    "question_content": "Double the numbers.",
    "starter_code": "class Solution:\n    def twice(self, nums: List[int], by: int) -> List[int]:",
    "difficulty": "hard",
}


def packed(tests: list[dict[str, str]]) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def rows() -> list[dict[str, str]]:
    text = [{"input": f"{n} 2\n3 4\n", "output": f"{n + 2}\n7", "testtype": "stdin"} for n in range(4)]
    call = [{"input": f"[1, {n}]\n2", "output": f"[2, {2 * n}]", "testtype": "functional"} for n in range(3)]
    return [
        {**SUM, "public_test_cases": json.dumps(text[:1]), "private_test_cases": packed(text[1:]), "metadata": "{}"},
        {
            **TWICE,
            "public_test_cases": json.dumps(call[:1]),
            "private_test_cases": packed(call[1:]),
            "metadata": json.dumps({"func_name": "twice"}),
        },
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "test6.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with ForkServer() as server:
        yield server


async def score(sandbox: Sandbox, data: Path, folder: Path, *, text: str, call: str) -> SuiteResult:
    def reply(messages, rng, version) -> str:  # type: ignore[no-untyped-def]
        return f"Thus:\n```python\n{call if 'class Solution' in messages[-1]['content'] else text}\n```\nDone."

    suite = open_suite("livecodebench", SuiteOptions(data=data, sandbox=sandbox))
    return await run_benchmark(suite, ScriptedPolicy(reply), {"model": "scripted"}, Where(folder))


async def test_eval_gold_livecodebench(sandbox: Sandbox, data: Path, tmp_path: Path) -> None:
    looping = "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))"
    method = "class Solution:\n    def twice(self, nums: List[int], by: int) -> List[int]:\n        return [by * n for n in nums]"
    good = await score(sandbox, data, tmp_path / "good", text=looping, call=method)
    assert (good.n, good.score().mean) == (2, 1.0)
    assert [item.detail["passed"] for item in good.items] == [4, 3]
    off = await score(sandbox, data, tmp_path / "off", text=looping + "\nprint(1)", call=method.replace("by *", "1 +"))
    assert off.score().mean == 0.0
    assert off.items[1].detail == {**off.items[1].detail, "passed": 0, "why": "wrong output"}


@pytest.mark.parametrize(
    "program",
    [
        "while True:\n    try:\n        print(sum(map(int, input().split())))\n    except EOFError:\n        break",
        "for line in open(0).read().splitlines():\n    print(sum(map(int, line.split())))\nexit()",
        "import sys\nfor line in sys.stdin.buffer.read().decode().splitlines():\n    sys.stdout.write(f'{sum(map(int, line.split()))}.0 \\n')",
        "import numpy as np, sys\nfor line in sys.stdin.readlines():\n    print(np.sum(np.array(line.split(), dtype=np.int64)))",
        "def main():\n    [print(sum(map(int, l.split()))) for l in sys.stdin]\nif __name__ == '__main__':\n    main()",
    ],
)
async def test_eval_programs_read_and_print_as_people_do(
    sandbox: Sandbox, data: Path, tmp_path: Path, program: str
) -> None:
    result = await score(sandbox, data, tmp_path / "r", text=program, call="")
    assert result.items[0].score == 1.0, result.items[0].detail


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("while True: pass", "ENV205"),
        ("x = [0] * 10**10", "ENV206"),
        ("print(open('/etc/passwd').read())", "wrong output"),
        ("import builtins, io; print(io.open('/etc/passwd').read())", "ENV201"),
        ("import socket; socket.create_connection(('127.0.0.1', 80))", "ENV201"),
        ("import os; os.fork(); print(1)", "ENV201"),
        (
            "import sys; sys.modules['env_program'].CandidateEnv.step = lambda *a: ('2\\n7', 1.0, True, False, {})\nraise SystemExit",
            "wrong output",
        ),
        ("print('x' * 10**8)", "wrong output"),
        ("1/0", "ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
    ],
)
async def test_eval_programs_that_pry_or_hang_fail(
    sandbox: Sandbox, data: Path, tmp_path: Path, program: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lcb, "LIMITS", dataclasses.replace(lcb.LIMITS, cpu_seconds=0.5))
    result = await score(sandbox, data, tmp_path / "r", text=program, call="")
    assert result.items[0].score == 0.0
    assert why in result.items[0].detail["why"]
    assert result.items[0].fault is None, "the program's fault is its failure, not the grader's"


def test_eval_outputs_are_compared_as_contests_do() -> None:
    assert lcb.same_output("1 2 \n3\n", "1 2\n3")
    assert lcb.same_output("0.50", "0.5")
    assert not lcb.same_output("1 2", "1\n2")
    assert not lcb.same_output("0.500001", "0.5")
    assert not lcb.same_output("", "0")


def test_eval_tests_that_would_run_code_are_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self):  # type: ignore[no-untyped-def]
            return print, ("owned",)

    row = {**rows()[0], "private_test_cases": base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()}
    path = tmp_path / "evil.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(ConfigError, match=r"line 1: no problem of LiveCodeBench: .*only a text is taken"):
        lcb.load(path)


def test_eval_last_block_is_the_program() -> None:
    assert lcb.read_program("```python\na\n```\ntext\n```\nb = 1\n```") == "b = 1"
    assert lcb.read_program("<think>```python\nx\n```</think> none") == ""


def test_eval_a_problem_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows(), rows()[0]]))
    with pytest.raises(ConfigError, match=r"line 3: .*abc1 stands on an earlier line"):
        lcb.load(path)


def test_eval_a_value_nested_without_end_is_wrong_and_nothing_worse() -> None:
    assert not lcb._same_value("[" * 200_000, "[1]")


async def test_eval_its_statements_can_be_looked_for_in_a_corpus(data: Path) -> None:
    found = [pair async for pair in suite_texts("livecodebench", SuiteOptions(data=data))]
    assert found == [("abc1", "Print the sum of each line."), ("3001", "Double the numbers.")]
