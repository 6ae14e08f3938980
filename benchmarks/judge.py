"""How often a judge of environments agrees with what is known of bundled programs, and with their mended versions.

``python benchmarks/judge.py --endpoint URL --model NAME`` asks a model behind an endpoint, as ``spadework pool stats
--judge`` does. Each label stands for two programs: one with a fault that is known, and the same one without it.
"""

from __future__ import annotations

import argparse
import asyncio
import tomllib
from pathlib import Path

from spadework.cli.environments.model import add_model, model_config
from spadework.jobs.engine import open_policy
from spadework.jobs.judge import Judged, Verdict, agreement, judge_pool
from spadework.resources import shipped
from spadework.types import Environment

SOUND = Verdict(well_posed=True, verifiable=True)


def labelled() -> tuple[list[Environment], dict[str, Verdict]]:
    """The programs, and what is known of each by its id."""
    folder = shipped("examples") / "environments" / "broken"
    table = tomllib.loads(Path(__file__).with_name("judge_labels.toml").read_text("utf-8"))["labels"]
    labels: dict[str, Verdict] = {}
    for name, label in table.items():
        labels |= {name: Verdict(**label), f"{name}.fixed": SOUND}
    programs = [
        Environment(name, (folder / f"{name}.py").read_text("utf-8"), "", "", "games", "", 0, 0) for name in labels
    ]
    return programs, labels


async def judge(arguments: argparse.Namespace) -> list[Judged]:
    """Ask the model that the arguments name."""
    async with open_policy(model_config(arguments), print) as (policy, _):
        return await judge_pool(policy, labelled()[0], arguments.jobs, arguments.max_tokens)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_model(parser)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=4_096)
    judged = asyncio.run(judge(parser.parse_args()))
    for one in judged:
        print(f"{one.environment_id}: {one.verdict or one.failure}")
    for question, share in agreement(judged, labelled()[1]).items():
        print(f"{question}: {share.mean:.0%} agree ({share.low:.0%} to {share.high:.0%}, {share.n} programs)")
