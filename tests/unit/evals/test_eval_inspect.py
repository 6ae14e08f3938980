"""The suites run as inspect-ai's tasks, with models of ours as its provider, and are graded as ours are."""

import json
from pathlib import Path

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra `inspect`, which brings seventy packages")


def test_eval_through_inspect(tmp_path: Path) -> None:
    from spadework.evals.inspect_tasks import generate_config
    from spadework.evals.suites.aime import INFO
    from spadework.integrations.inspect import aime2025

    path = tmp_path / "aime.jsonl"
    rows = [{"id": f"P{n}", "problem": f"Add {n} and {n}.", "answer": 2 * n} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (log,) = inspect_ai.eval(
        aime2025(str(path)), model="spadework/scripted", log_dir=str(tmp_path / "logs"), display="none"
    )
    assert log.status == "success", log.error
    assert len(log.samples) == 4 * 32
    right = [sample.output.completion == f"\\boxed{{{2 * int(sample.metadata['unit'][1:])}}}" for sample in log.samples]
    assert log.results.scores[0].metrics["mean"].value == sum(right) / len(right)
    config = generate_config(INFO.presets["paper"].sampling)
    assert (config.top_k, config.extra_body, config.max_tokens) == (20, {"top_k": 20}, 32_768)
