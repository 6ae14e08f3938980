"""Gold answers score everything and wrong ones nothing, on rows in the true formats."""

import csv
import json
from pathlib import Path

import pytest

from spadework.errors import ConfigError
from spadework.evals.registry import SuiteOptions, open_suite, suite_module
from spadework.evals.runner import Where, run_benchmark
from spadework.evals.suites import gpqa
from spadework.testing.scripted import ScriptedPolicy


@pytest.fixture
def aime_file(tmp_path: Path) -> Path:
    rows = [
        {"id": "I-1", "problem": "Find $1+1$.", "answer": "002"},
        {"problem_idx": 2, "question": "What is $10^2$?", "answer": 100},
    ]
    path = tmp_path / "aime.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def gpqa_file(tmp_path: Path) -> Path:
    path = tmp_path / "gpqa_diamond.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Record ID", "High-level domain", "Question", *gpqa.CHOICES])
        for n in range(6):
            choices = [f"right {n}", "wrong a", "wrong b", "wrong,\nc"]
            writer.writerow([f"rec{n}", "Physics" if n % 2 else "Biology", f"Question {n}?", *choices])
    return path


async def score(name: str, data: Path, reply, folder: Path, trials: int | None = None):  # type: ignore[no-untyped-def]
    policy = ScriptedPolicy(lambda messages, rng, version: reply(messages[-1]["content"]))
    suite = open_suite(name, SuiteOptions(data=data, trials=trials))
    return await run_benchmark(suite, policy, {"model": "scripted"}, Where(folder))


async def test_eval_gold_aime(tmp_path: Path, aime_file: Path) -> None:
    def gold(prompt: str) -> str:
        return "First \\boxed{7}, no: \\boxed{" + ("2.0" if "1+1" in prompt else "100") + "}"

    right = await score("aime2025", aime_file, gold, tmp_path / "right")
    assert (right.n, right.score().mean, right.setting.sampling["max_tokens"]) == (64, 1.0, 32_768)
    assert {item.unit for item in right.items} == {"I-1", "2"}
    wrong = await score("aime2025", aime_file, lambda prompt: gold(prompt) + " \\boxed{5}", tmp_path / "wrong")
    assert wrong.score().mean == 0.0
    bare = await score("aime2026", aime_file, lambda prompt: "2 or 100", tmp_path / "bare", trials=1)
    assert (bare.n, bare.score().mean) == (2, 0.0)


async def test_eval_gold_gpqa(tmp_path: Path, gpqa_file: Path) -> None:
    def letter(prompt: str, right: bool) -> str:
        lines = [line for line in prompt.splitlines() if line[1:2] == ")"]
        return next(line[0] for line in lines if ("right" in line) == right)

    good = await score("gpqa", gpqa_file, lambda p: f"So, **Answer: ({letter(p, True)})**", tmp_path / "good")
    assert (good.n, good.score().mean, set(good.groups())) == (12, 1.0, {"Biology", "Physics"})
    assert len({item.answer for item in good.items}) > 1, "the right letter moves"
    bad = await score("gpqa", gpqa_file, lambda p: f"Answer: {letter(p, False)}", tmp_path / "bad")
    assert bad.score().mean == 0.0


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Answer: B", "B"),
        ("A looks good. But the answer is (c).", "C"),
        ("\\boxed{\\text{D}}", "D"),
        ("$\\boxed{B}$ is the answer", "B"),
        ("**Final Answer:** $\\mathbf{A}$", "A"),
        ("I choose\n\nC", "C"),
        ("<think>Answer: A</think> ANSWER: D) because", "D"),
        ("The answer is a matter of taste", ""),
        ("Answer: Energy", ""),
        ("", ""),
    ],
)
def test_eval_letters_however_written(reply: str, letter: str) -> None:
    assert gpqa.read_letter(reply) == letter


def test_eval_data_is_checked(tmp_path: Path, aime_file: Path, gpqa_file: Path) -> None:
    assert "2 problems; a whole year has 30" in suite_module("aime2025").check_data(aime_file)
    assert "6 questions; the Diamond set has 198" in suite_module("gpqa").check_data(gpqa_file)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"problem": "x", "answer": "1000"}\n')
    with pytest.raises(
        ConfigError, match="line 1: the line needs a text `problem` and an integer `answer` from 0 to 999"
    ):
        suite_module("aime2025").check_data(broken)
    with pytest.raises(ConfigError, match="no column 'Question'"):
        suite_module("gpqa").check_data(broken)
    with pytest.raises(ConfigError, match="--data-help gpqa"):
        open_suite("gpqa", SuiteOptions())


def test_eval_gpqa_refuses_a_record_that_stands_twice(gpqa_file: Path) -> None:
    with gpqa_file.open("a", newline="") as file:
        csv.writer(file).writerow(["rec0", "Physics", "Another?", "right", "a", "b", "c"])
    with pytest.raises(ConfigError, match="row 7: the record 'rec0' stands on an earlier row"):
        gpqa.load(gpqa_file)
