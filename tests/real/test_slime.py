"""slime's own code, at a pinned commit: its parser takes our recipe, and its scheduler makes one step of a cycle.

``SPADEWORK_SLIME`` names a checkout of slime at ``COMMIT``; without it these tests are skipped. SGLang and Megatron,
which need GPUs, are stubs: nothing of theirs is called here.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.machinery
import os
import random
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from spadework.config.files import load_config
from spadework.integrations.slime import Step, check_arguments, samples_of
from spadework.types import TrainingRow

pytestmark = pytest.mark.slow

COMMIT = "a6272da0d4f3d0a08520c99a2f3b4f6c887960dc"
"""slime v0.3.1."""
STUBS = (
    "wandb ray ray.actor ray.util ray.util.scheduling_strategies sglang sglang.srt sglang.srt.server_args "
    "sglang.srt.constants sglang.srt.utils sglang.srt.entrypoints sglang.srt.entrypoints.http_server sglang_router "
    "sglang_router.launch_router"
).split()
KL = "--use-kl-loss --kl-loss-coef 0.005 --kl-loss-type low_var_kl"
"""What the table of sizes adds for 8B."""
RECIPE = Path(__file__).parents[2] / "docs" / "backends.md"


class Arguments:
    """SGLang's and its router's classes of arguments, which add none here."""

    @staticmethod
    def add_cli_args(parser: Any, **_: Any) -> Any:
        return parser


def stub(name: str) -> ModuleType:
    module: Any = ModuleType(name)
    module.__path__, module.__spec__ = [], importlib.machinery.ModuleSpec(name, None)
    module.ServerArgs = module.RouterArgs = Arguments
    module.__version__ = "0.3.2"
    module.__getattr__ = lambda attribute: _nothing(attribute)
    return module


def _nothing(attribute: str) -> Any:
    if attribute.startswith("__"):
        raise AttributeError(attribute)
    return SimpleNamespace


@pytest.fixture(scope="module")
def slime() -> Iterator[None]:
    folder = os.environ.get("SPADEWORK_SLIME")
    if not folder:
        pytest.skip(f"SPADEWORK_SLIME names no checkout of slime at {COMMIT}")
    before = dict(sys.modules)
    sys.path.insert(0, folder)
    for name in STUBS:
        if name not in sys.modules:
            sys.modules[name] = stub(name)
    yield
    sys.path.remove(folder)
    for name in set(sys.modules) - set(before):
        if name.split(".")[0] == "slime" or name in STUBS:
            del sys.modules[name]


def parsed(words: list[str]) -> tuple[Namespace, list[str]]:
    """What slime's parser makes of a command line, beside the arguments of Megatron's."""
    arguments = importlib.import_module("slime.utils.arguments")
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for (
        flag
    ) in "tensor-model-parallel-size global-batch-size micro-batch-size recompute-num-layers save-interval".split():
        parser.add_argument(f"--{flag}", type=int, default=1)
    for flag in "optimizer lr-decay-style recompute-granularity recompute-method save load".split():
        parser.add_argument(f"--{flag}")
    for flag in "lr adam-beta1 adam-beta2 weight-decay".split():
        parser.add_argument(f"--{flag}", type=float)
    for flag in ("sequence-parallel", "calculate-per-token-loss"):
        parser.add_argument(f"--{flag}", action="store_true")
    return arguments.get_slime_extra_args_provider()(parser).parse_known_args(words)


def recipe() -> list[str]:
    """The arguments that docs/backends.md lists for every size."""
    text = RECIPE.read_text()
    start = text.index("--data-source-path")
    return shlex.split(text[start : text.index("```", start)])


@pytest.mark.usefixtures("slime")
@pytest.mark.parametrize(("name", "more"), [("games-4b", ""), ("games-8b", KL), ("games-30b", "")])
def test_its_parser_takes_the_recipe(name: str, more: str) -> None:
    args, unknown = parsed([*recipe(), *shlex.split(more)])
    assert not unknown
    check_arguments(args, load_config(name))


@pytest.mark.usefixtures("slime")
@pytest.mark.parametrize("count", [0, 5, 60, 384, 500, 776])
def test_its_scheduler_makes_one_step_of_a_cycle_and_drops_nothing(count: int) -> None:
    sample = importlib.import_module("slime.utils.types").Sample
    schedule = importlib.import_module("slime.utils.dp_schedule").build_dp_schedule
    args, _ = parsed(recipe())
    step = Step(args.global_batch_size, 4)
    samples = [one for group in samples_of(rows(count), sample, step) for one in group]
    wanted = Namespace(
        use_dynamic_batch_size=True, max_tokens_per_gpu=16_384, balance_by_flops=False, balance_data=False
    )
    shape = {"dp_size": 4, "cp_size": 1, "vpp_size": 1, "microbatch_group_size_per_vp_stage": 1}
    partitions, _, batches, _ = schedule(
        wanted,
        shape,
        [len(one.tokens) for one in samples],
        global_batch_size=step.batch,
        rollout_indices=[one.rollout_id for one in samples],
    )
    assert len(batches) == 1
    assert sorted(index for part in partitions for index in part) == list(range(len(samples)))
    assert sum(any(one.loss_mask) for one in samples) == count


def rows(count: int) -> list[TrainingRow]:
    rng = random.Random(0)
    lengths = [rng.randint(20, 200) for _ in range(count)]
    return [
        TrainingRow(
            tokens=tuple(range(length)),
            loss_mask=tuple(i >= 10 for i in range(length)),
            logprobs=tuple(-1.0 if i >= 10 else 0.0 for i in range(length)),
            advantages=tuple(0.01 if i >= 10 else 0.0 for i in range(length)),
            role="agent",
            group_id=str(index // 16),
            source_id=str(index),
            policy_version=0,
        )
        for index, length in enumerate(lengths)
    ]
