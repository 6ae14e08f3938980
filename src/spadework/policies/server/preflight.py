"""One small real request to each endpoint before anything is asked of it in earnest.

An endpoint that is dead, refuses, or answers what cannot be used is then named within seconds, with its address and
what it said, and no table of failures is made of it.
"""

from __future__ import annotations

from spadework.config import EndpointSection
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Policy, SamplingParams
from spadework.policies.server.openai import OpenAICompatPolicy

_RETRIES = 3
"""Further attempts, whatever the settings say: some seconds at most, so that a busy server is not taken for dead."""
_TOKENS = 16
"""Of the reply: as few as hosted endpoints allow."""


async def preflight(*policies: Policy | None) -> None:
    """Ask every address of each policy that is served by an endpoint for a few tokens; others are left alone.

    Raises:
        ConfigError: an address gives no usable answer; says which, with its status and the head of what it said.
    """
    for policy in policies:
        if isinstance(policy, OpenAICompatPolicy):
            for url in policy.settings.urls:
                await _ask_once(policy, url)


async def _ask_once(policy: OpenAICompatPolicy, url: str) -> None:
    """One short conversation with one address, by a client of its own that gives up early."""
    settings = _for_one(policy.settings, url)
    client = OpenAICompatPolicy(settings, policy.model, policy.run_seed)
    try:
        chat = client.chat([{"role": "user", "content": "Say yes."}])
        await chat.reply(SamplingParams(_TOKENS), (0,))
    except PolicyError as error:
        raise ConfigError(f"the model {policy.model!r} gives no answer: {error.fault.message}") from None
    finally:
        policy.endpoints.take_over(client.endpoints)
        await client.close()


def _for_one(settings: EndpointSection, url: str) -> EndpointSection:
    limit = min(settings.deadline_seconds, settings.timeout_seconds)
    return settings.model_copy(
        update={"urls": (url,), "weights": (), "retries": _RETRIES, "deadline_seconds": limit},
    )
