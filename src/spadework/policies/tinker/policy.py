"""``TinkerPolicy`` samples from a model behind the Tinker API; ``tinker.trainer`` trains its adapter.

The server is hosted, or one's own: SkyRL serves the same API, on one machine or over Ray. Its log-probabilities are
those of temperature 1, whatever a reply was sampled at, so only rows that were sampled at temperature 1 can train.
Every call has a deadline, since a server that does not know the client's protocol does not answer at all.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Completion, Message, SamplingParams
from spadework.policies.chat import Template, TokenChat
from spadework.policies.stop_strings import cut_at_stop
from spadework.policies.thinking import Thinking
from spadework.types import Key, derive_seed

T = TypeVar("T")
Reduction = Literal["sum", "sequence_mean"]

_SKYRL = "Tinker API Mock"
"""What SkyRL's server calls itself."""
_SKYRL_CLIENTS = (0, 25)
"""SkyRL 0.3.0 answers clients below this version; a newer one waits for ever."""
_PROBE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class TinkerOptions:
    """Where the model is served, and how this client uses it."""

    base_url: str | None = None
    """``None`` for the hosted service."""
    lora_rank: int = 32
    reduction: Literal["auto", "sum", "sequence_mean"] = "auto"
    """How the server reduces a loss; ``auto`` knows the hosted service (sum) and SkyRL's JAX backend (a mean)."""
    deadline_seconds: float = 1_800.0
    """The longest that one call may take: sampling, a pass over a batch, a step, saving or loading."""
    max_length: int = 32_768
    """Longest row in tokens, prompt and reply together."""
    check_versions: bool = True


class TinkerLink:
    """The service's client, with one deadline for all of its calls."""

    def __init__(self, sdk: Any, service: Any, options: TinkerOptions, reduction: Reduction) -> None:
        self.sdk, self.service, self.options, self.reduction = sdk, service, options, reduction

    async def wait(self, call: Awaitable[T], what: str) -> T:
        """The call's result. Raises ``PolicyError`` where it fails or the deadline passes."""
        seconds = self.options.deadline_seconds
        try:
            async with asyncio.timeout(seconds):
                return await call
        except TimeoutError:
            raise PolicyError("DEADLINE", f"the Tinker server did not answer {what} within {seconds:g} s") from None
        except self.sdk.TinkerError as error:
            raise PolicyError("REFUSED", f"the Tinker server refused {what}: {_first_line(error)}") from error

    async def result(self, started: Awaitable[Any], what: str) -> Any:
        """Wait for a call, and for the future that it returns. Raises ``PolicyError``."""

        async def both() -> Any:
            return await (await started)

        return await self.wait(both(), what)

    def block(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run ``work`` to its end from code that is not asynchronous, even inside a running loop."""
        with ThreadPoolExecutor(1, thread_name_prefix="spadework-tinker") as thread:
            return thread.submit(lambda: asyncio.run(_await(work))).result()


class TinkerPolicy:
    """``Policy`` over a sampling client. Its weights are those of the last ``TinkerTrainer.sync``."""

    def __init__(self, link: TinkerLink, template: Template, encode: Callable[[str], Sequence[int]], seed: int) -> None:
        self._link, self._template, self._encode, self._run_seed = link, template, encode, seed
        self._client: Any = None
        self.version = 0

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> TokenChat:
        """Open a conversation; see ``base.Policy.chat``."""
        return TokenChat(self, self._template, messages, tools=tools, prefill=prefill)

    def check_thinking(self, thinking: Thinking) -> None:
        """Raises ``ConfigError`` where the model's chat template has no such switch."""
        self._template.switched(thinking)

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Continue a row of token ids. Raises ``PolicyError``."""
        room = self._link.options.max_length - len(tokens)
        if room < 1:
            raise PolicyError("TOO_LONG", f"a prompt of {len(tokens)} tokens leaves no room for a reply")
        if params.grammar is not None:
            raise PolicyError("REFUSED", "a grammar was asked for, which the Tinker API cannot be bound to")
        sdk, version = self._link.sdk, self.version
        limit = min(params.max_tokens, room)
        request = sdk.SamplingParams(
            max_tokens=limit,
            seed=derive_seed(self._run_seed, *key) % 2**31,
            stop=sorted(self._template.stop_tokens),
            temperature=params.temperature,
            top_k=params.top_k or -1,
            top_p=params.top_p,
        )
        prompt = sdk.ModelInput.from_ints(list(tokens))
        response = await self._link.wait(self._client.sample_async(prompt, 1, request), "a sample")
        return self._completion(response, params, version)

    def _completion(self, response: Any, params: SamplingParams, version: int) -> Completion:
        sequence = response.sequences[0]
        ids, logprobs = tuple(sequence.tokens), tuple(sequence.logprobs or ())
        if not ids or len(ids) != len(logprobs):
            raise PolicyError("UNUSABLE", f"a sample holds {len(ids)} ids and {len(logprobs)} log-probabilities")
        stopped = ids[-1] in self._template.stop_tokens
        cut = cut_at_stop(ids, params.stop, self._template.decode)
        if cut < len(ids):
            ids, logprobs, stopped = ids[:cut], logprobs[:cut], True
        spoken = ids[:-1] if ids[-1] in self._template.stop_tokens else ids
        text = self._template.decode(spoken)
        return Completion(text, ids, logprobs, "stop" if stopped else "length", version)

    @contextmanager
    def attend(self) -> Iterator[None]:
        """Does nothing: the server forms its batches by itself."""
        yield

    def count_tokens(self, text: str) -> int:
        """Length of a text in tokens, without special tokens around it."""
        return len(self._encode(text))

    def sample_with(self, client: Any, version: int) -> None:
        """Sample from ``client`` from now on."""
        self._client, self.version = client, version

    async def close(self) -> None:
        """Does nothing: the client library closes its connections at the end of the process."""


def connect(model: str, options: TinkerOptions) -> TinkerLink:
    """Connect to the server, and check that the client library can talk to it.

    Args:
        model: What the server must offer.
        options: See ``TinkerOptions``.

    Raises:
        ConfigError: No server, no key, no such model there, or versions that do not talk to each other.
    """
    try:
        import tinker as sdk
    except ImportError:
        raise ConfigError("the Tinker API needs the extra `tinker`: pip install 'spadework[tinker]'") from None
    skyrl = options.base_url is not None and _server_name(options.base_url) == _SKYRL
    if skyrl and options.check_versions:
        _check_client()
    reduction: Reduction = "sum" if options.reduction == "sum" else "sequence_mean"
    if options.reduction == "auto":
        reduction = "sequence_mean" if skyrl else "sum"
    key = os.environ.get("TINKER_API_KEY") or ("tml-none" if skyrl else None)
    if key is None:
        raise ConfigError("the Tinker API needs a key: set the environment variable TINKER_API_KEY")
    service = sdk.ServiceClient(base_url=options.base_url, api_key=key)
    link = TinkerLink(sdk, service, options, reduction)
    try:
        offer = link.block(lambda: link.wait(service.get_server_capabilities_async(), "what it offers"))
    except PolicyError as error:
        raise ConfigError(f"{options.base_url or 'the Tinker service'}: {error.fault.message}") from error
    offered = [entry.model_name for entry in offer.supported_models]
    if model not in offered:
        raise ConfigError(f"model.name: the Tinker server does not offer {model!r}; it has {', '.join(offered)}")
    return link


def _server_name(base_url: str) -> str:
    """The name that the server at this address gives itself, or an empty string. Raises ``ConfigError``."""
    try:
        with urllib.request.urlopen(base_url.rstrip("/") + "/", timeout=_PROBE_SECONDS) as answer:
            data = json.loads(answer.read(1 << 16))
            return str(data.get("name", "")) if isinstance(data, dict) else ""
    except (urllib.error.HTTPError, UnicodeDecodeError, json.JSONDecodeError):
        return ""
    except (OSError, ValueError) as error:
        raise ConfigError(f"tinker.base_url: no server answers at {base_url} ({error})") from None


def _check_client() -> None:
    version = importlib.metadata.version("tinker")
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers >= _SKYRL_CLIENTS:
        below = ".".join(map(str, _SKYRL_CLIENTS))
        raise ConfigError(
            f"a SkyRL server (as of 0.3.0) does not answer tinker {version}: pip install 'tinker<{below}', or set "
            "tinker.check_versions = false for a server that is known to"
        )


async def _await(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
