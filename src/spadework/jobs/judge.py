"""A model's judgement of environments: the shares of Table 7 that are well-posed and verifiable.

The prompt is ours (``judge.md``); the paper prints none. A judge is worth what its verdicts agree with those of people:
``benchmarks/judge.py`` measures that on bundled programs that are known to be good or bad.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from spadework.envs.actions import strip_thinking
from spadework.envs.check.program import in_order
from spadework.errors import PolicyError
from spadework.intervals import Interval, share_interval
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.types import Environment

QUESTIONS = ("well_posed", "verifiable")
_LINE = {
    "well_posed": re.compile(r"^\W*well[- ]posed\W+(yes|no)\b", re.IGNORECASE | re.MULTILINE),
    "verifiable": re.compile(r"^\W*verifiable\W+(yes|no)\b", re.IGNORECASE | re.MULTILINE),
}
_ATTEMPTS = 3
"""A verdict that cannot be read is asked for so often."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge says of one environment."""

    well_posed: bool
    verifiable: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """An environment with its verdict; ``failure`` says why there is none."""

    environment_id: str
    verdict: Verdict | None
    failure: str = ""


async def judge_pool(policy: Policy, environments: Sequence[Environment], jobs: int, max_tokens: int) -> list[Judged]:
    """Ask ``policy`` about each environment, ``jobs`` at a time; results are in the order of ``environments``."""
    places = list(enumerate(environments))
    judged = []
    async for _, found in in_order(places, lambda one: _judge(policy, one[1], one[0], max_tokens), jobs):
        if isinstance(found, Exception):
            raise found
        judged.append(found)
    return judged


async def _judge(policy: Policy, environment: Environment, place: int, max_tokens: int) -> Judged:
    """Greedily at first; where that cannot be read, a second and a third answer are sampled."""
    prompt = Template(files(__package__).joinpath("judge.md").read_text("utf-8").strip())
    messages = [Message(role="user", content=prompt.substitute(source=environment.source))]
    for attempt in range(_ATTEMPTS):
        params = SamplingParams(max_tokens, temperature=0.6 if attempt else 0.0)
        try:
            completion = await policy.chat(messages).reply(params, (place, attempt))
        except PolicyError as error:
            return Judged(environment.id, None, str(error))
        verdict = read_verdict(completion.text) if completion.finish_reason == "stop" else None
        if verdict is not None:
            return Judged(environment.id, verdict)
    return Judged(environment.id, None, f"no verdict that can be read in {_ATTEMPTS} tries")


def read_verdict(reply: str) -> Verdict | None:
    r"""The last verdict of a reply on either question; ``None`` where one is missing.

    >>> read_verdict("I see.\n\nWell-posed: yes\nVerifiable: no")
    Verdict(well_posed=True, verifiable=False)
    """
    text = strip_thinking(reply)
    words = {name: line.findall(text) for name, line in _LINE.items()}
    if not all(words.values()):
        return None
    return Verdict(**{name: found[-1].lower() == "yes" for name, found in words.items()})


def shares(judged: Sequence[Judged]) -> dict[str, Interval]:
    """Of each question, the share of yes among the verdicts with its 95 % interval. What has no verdict is left out."""
    verdicts = [one.verdict for one in judged if one.verdict is not None]
    return {name: share_interval(sum(getattr(one, name) for one in verdicts), len(verdicts)) for name in QUESTIONS}


def agreement(judged: Sequence[Judged], labels: Mapping[str, Verdict]) -> dict[str, Interval]:
    """Of each question, the share of labelled environments whose verdict is the label; no verdict agrees with none."""
    known = [(one.verdict, labels[one.environment_id]) for one in judged if one.environment_id in labels]
    return {
        name: share_interval(
            sum(said is not None and getattr(said, name) == getattr(label, name) for said, label in known), len(known)
        )
        for name in QUESTIONS
    }
