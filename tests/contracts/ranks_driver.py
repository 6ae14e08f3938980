"""A trainer's work, alone or as rank 0 of several: ``torchrun ranks_driver.py FOLDER`` writes what ``work`` returns."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import sys
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from spadework.policies.base import Hyperparameters, RoleStep
from spadework.policies.local.distributed import joined_ranks
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.policy import load_local
from spadework.policies.local.training.trainer import LocalTrainer
from spadework.policies.local.training.worker import run_worker
from spadework.types import TrainingRow

OPTIONS = LocalOptions(slots=2, parked=0, threads=1, dtype="float32", max_length=128, micro_batch_tokens=64)
MODES = {
    "equal": OPTIONS,
    "sharded": dataclasses.replace(OPTIONS, shard=True),
    "adapter": dataclasses.replace(OPTIONS, lora_rank=4),
    "sharded-adapter": dataclasses.replace(OPTIONS, lora_rank=4, shard=True),
}
STILL = Hyperparameters(lr=0.0, grad_clip=1e9, weight_decay=0.0)
MOVING = dataclasses.replace(STILL, lr=1e-3, epochs=2, minibatches=2, kl_coef=0.5)
BY_ROLE = dataclasses.replace(
    STILL,
    ratio="sequence",
    entropy_coef=0.1,
    kl_rows="all",
    role_steps=(RoleStep("agent", 1e-3, kl_coef=0.5), RoleStep("designer", 5e-4)),
)


def rows() -> list[TrainingRow]:
    """Nine rows of unequal length, two groups that share their prompts and one row alone."""
    rng = random.Random(5)
    prompts = [[rng.randrange(3, 250) for _ in range(length)] for length in (12, 40, 5)]
    made = []
    for index in range(9):
        prompt = prompts[2 if index == 8 else index % 2]
        reply = [rng.randrange(3, 250) for _ in range(3 + 4 * index)]
        mask = (False,) * len(prompt) + (True,) * len(reply)
        made.append(
            TrainingRow(
                tokens=(*prompt, *reply),
                loss_mask=mask,
                logprobs=tuple(-5.5 * m for m in mask),
                advantages=tuple(rng.gauss(0, 0.1) * m for m in mask),
                role="designer" if index % 3 == 0 else "agent",
                group_id=str(index % 2),
                source_id=str(index),
                policy_version=0,
            )
        )
    return made


async def work(options: LocalOptions, folder: Path, resume: Path | None = None) -> dict[str, Any]:
    """One update that only measures, saved as ``still``, then real ones, saved as ``moved`` and exported."""
    policy, trainer = load_local("tiny-random", run_seed=3, options=options)
    if resume is not None:
        trainer.load(resume)
    still = await trainer.train(rows(), STILL)
    trainer.save(folder / "still")
    moved = await trainer.train(rows(), MOVING)
    roles = await trainer.train(rows(), BY_ROLE)
    few = await trainer.fit(rows()[:1], STILL)  # fewer rows than ranks
    await trainer.sync()
    trainer.save(folder / "moved")
    trainer.export(folder / "model")
    await policy.close()
    return {"still": still, "moved": moved, "roles": roles, "few": few, "version": policy.version}


def _show_every_rank(folder: Path, rank: int) -> None:
    """Have ranks that write nothing keep their weights beside rank 0's checkpoint."""
    save = LocalTrainer.save

    def save_both(self: LocalTrainer, path: Path) -> None:
        save(self, path)
        if not self._options.shard:
            weights = {name: parameter.detach() for name, parameter in self._trained.items()}
            save_file(weights, path.with_name(f"{path.name}-rank{rank}.safetensors"))

    LocalTrainer.save = save_both  # type: ignore[method-assign]


def main() -> None:
    folder = Path(sys.argv[1])
    with joined_ranks() as ranks:
        _show_every_rank(folder, ranks.rank)
        if ranks.rank:
            run_worker(ranks)
            return
        for mode, options in MODES.items():
            (folder / mode).mkdir()
            found = asyncio.run(work(options, folder / mode))
            (folder / mode / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
