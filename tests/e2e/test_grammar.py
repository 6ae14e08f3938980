"""Grammar-bound designs: whatever the model, the program runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from spadework.build import build_engine, build_sandbox, build_stages
from spadework.config.files import load_config
from spadework.corpus.documents import Corpus
from spadework.domains.games import GAMES
from spadework.envs.check.static.source import check_source
from spadework.resources import shipped

pytest.importorskip("llguidance")


async def test_even_a_random_model_writes_programs_that_run(tmp_path):
    config = load_config("tiny", ["designer.grammar=true", "designer.max_tokens=1100", "designer.attempts=1"])
    sandbox, engine = build_sandbox(config), build_engine(config)
    corpus = Corpus(shipped("examples") / "corpus.jsonl", tmp_path)
    designer = build_stages(config, sandbox, corpus).designer
    assert designer is not None
    designer.sampling = replace(designer.sampling, temperature=1.0)
    try:
        async with asyncio.TaskGroup() as group:
            slots = [group.create_task(designer.fill_slot(engine.policy, 0, slot)) for slot in range(4)]
        designs = [slot.result().designs[0] for slot in slots]
    finally:
        await engine.policy.close()
        await sandbox.close()
    assert all(not any(f.code.startswith("ENV0") for f in check_source(d.source, GAMES)) for d in designs), designs
    assert all(design.ran for design in designs), [design.findings for design in designs]
