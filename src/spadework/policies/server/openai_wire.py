"""The chat-completions call as plain data: what is sent, and what a usable answer looks like. No network here.

Fields beyond OpenAI's are sent only to servers that know them (``server``), but for ``top_k`` where it is asked for: a
hosted endpoint refuses what it does not know, and is then asked without it (``optional_fields``). An answer that
contradicts itself is no answer: ``read_answer`` raises ``Unusable`` and never guesses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spadework.config import EndpointSection
from spadework.errors import ConfigError
from spadework.policies.base import FinishReason, Message, SamplingParams
from spadework.policies.thinking import SWITCHES, Thinking

Body = dict[str, Any]

_NATIVE: dict[str, Body] = {
    "openai": {},
    "vllm": {"logprobs": True, "return_token_ids": True, "include_stop_str_in_output": True},
    "sglang": {"logprobs": True, "return_meta_info": True, "no_stop_trim": True},
}
"""What each kind of server is asked for beside a reply: ids, log-probabilities, and the stop string kept."""


_NEEDED = frozenset(
    (
        *("model", "messages", "tools", "stream", "stop", "max_tokens", "max_completion_tokens"),
        *("add_generation_prompt", "continue_final_message", "chat_template_kwargs"),
    )
)
"""Fields without which a request would be another one: never left out because a server refuses them."""


class Unusable(ValueError):
    """An answer that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer. ``tokens``, ``logprobs`` and ``prompt`` are empty where the server gives none."""

    text: str
    finish_reason: FinishReason
    message: Body
    """The assistant's message as it stands in the history of the next request."""
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    prompt: tuple[int, ...]
    """Ids of the whole prompt, as the server rendered it."""
    prompt_count: int
    completion_count: int


def request_body(
    settings: EndpointSection,
    model: str,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    params: SamplingParams,
    seed: int,
) -> Body:
    """The body of one request. ``messages`` ends with an assistant's message where that is to be continued."""
    body: Body = {
        "model": model,
        "messages": list(messages),
        settings.limit_field: params.max_tokens,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "seed": seed,
        "stream": False,
        **_NATIVE[settings.server],
    }
    if params.top_k:
        body["top_k"] = params.top_k
    if params.stop:
        body["stop"] = list(params.stop)
    if tools and settings.tools == "native":
        body["tools"] = [dict(tool) for tool in tools]
    if messages[-1]["role"] == "assistant":
        body |= {"add_generation_prompt": False, "continue_final_message": True}
    said = body | dict(settings.extra)
    if params.thinking is not None:  # it holds what ``extra`` says of the template's other variables
        said |= thinking_field(settings, params.thinking)
    return {key: value for key, value in said.items() if key not in settings.without}


def thinking_field(settings: EndpointSection, thinking: Thinking) -> Body:
    """The field that switches thinking on or off: the template's variables, under each name that templates have for it.

    Raises:
        ConfigError: The server counts no tokens of a thought, or is not known to take variables of the template.
    """
    if isinstance(thinking, int):
        raise ConfigError(
            f'thinking = {thinking}: an endpoint cannot be held to a budget of thinking. Set it to "on" or "off"'
        )
    if settings.server == "openai":
        raise ConfigError(
            f'thinking = "{thinking}": set endpoint.server to "vllm" or "sglang", which pass it to the chat template, '
            "or leave it unset and name the server's own field in endpoint.extra"
        )
    given = settings.extra.get("chat_template_kwargs") or {}
    return {"chat_template_kwargs": {**dict.fromkeys(SWITCHES, thinking == "on"), **given}}


def optional_fields(settings: EndpointSection, body: Mapping[str, Any]) -> frozenset[str]:
    """The fields of a request that it can go without: neither its substance, nor what the user asked for by name."""
    return frozenset(body) - _NEEDED - frozenset(settings.extra)


def told_tools(tools: Sequence[Mapping[str, Any]]) -> str:
    """Tools as text, for servers that do not take them."""
    return "Tools:\n" + "\n".join(json.dumps(tool.get("function", tool)) for tool in tools)


def user_side(messages: Sequence[Message], last: Mapping[str, Any] | None) -> list[Body]:
    """What others said after ``last``, the assistant's message, as the wire wants it.

    A tool's result belongs to a call of ``last``: to each its own where there are as many. One observation that holds
    the results of several calls answers the first and the others point there. Where the calls stood in the text, the
    user passes the result on.
    """
    calls = list((last or {}).get("tool_calls") or ())
    paired = sum(message["role"] == "tool" for message in messages) == len(calls)
    said: list[Body] = []
    for message in messages:
        if message["role"] != "tool":
            said.append({"role": message["role"], "content": message["content"]})
        elif not calls:
            said.append({"role": "user", "content": f"<tool_response>\n{message['content']}\n</tool_response>"})
        elif paired:
            said.append({"role": "tool", "tool_call_id": calls.pop(0)["id"], "content": message["content"]})
        else:
            for place, call in enumerate(calls):
                content = message["content"] if place == 0 else "(with the first call's result)"
                said.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            calls = []
    if calls:  # nobody gave results: the wire wants one for each call all the same
        said = [*({"role": "tool", "tool_call_id": call["id"], "content": ""} for call in calls), *said]
    return said


def read_answer(data: Any, params: SamplingParams) -> Answer:
    """The first choice of a response. Raises ``Unusable``."""
    choice = _choice(data)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Unusable("its choice holds no message")
    calls = _calls(message)
    reason = choice.get("finish_reason")
    text = _text(message, calls, cut=reason == "length")
    if reason not in ("stop", "length", "tool_calls"):
        raise Unusable(f"it ended by {reason!r}")
    if reason == "stop":
        text += _missing_stop(choice, text, params)
    tokens, logprobs = _tokens(choice)
    usage = data.get("usage") or {}
    said: Body = {"role": "assistant", "content": message.get("content") or ""}
    if calls:
        said["tool_calls"] = calls
    completion_count = _count(usage, "completion_tokens", len(tokens))
    if tokens and completion_count != len(tokens):
        raise Unusable(f"it counts {completion_count} tokens and holds {len(tokens)} ids")
    prompt = _ids(data.get("prompt_token_ids") or choice.get("prompt_token_ids") or ())
    return Answer(
        text=text,
        finish_reason="length" if reason == "length" else "stop",
        message=said,
        tokens=tokens,
        logprobs=logprobs,
        prompt=prompt,
        prompt_count=_count(usage, "prompt_tokens", len(prompt)),
        completion_count=completion_count,
    )


def _choice(data: Any) -> Body:
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unusable("it holds no choice")
    first: Body = choices[0]
    return first


def _text(message: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], *, cut: bool) -> str:
    """What was said, calls included in the form that the agent is asked for; a reply may be cut before it says any."""
    content = message.get("content")
    if content is None and (cut or calls or message.get("reasoning_content") or message.get("reasoning")):
        content = ""
    if not isinstance(content, str):
        raise Unusable("its message holds no text")
    written = [
        json.dumps({"name": call["function"]["name"], "arguments": _arguments(call["function"]["arguments"])})
        for call in calls
    ]
    return "\n".join([*([content] if content else []), *(f"<tool_call>{one}</tool_call>" for one in written)])


def _arguments(given: Any) -> Any:
    """Arguments arrive as JSON text; what is no JSON stays the text that the model wrote, for the parser to judge."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given


def _calls(message: Mapping[str, Any]) -> list[Body]:
    calls = message.get("tool_calls") or []
    whole = isinstance(calls, list) and all(
        isinstance(call, dict)
        and isinstance(call.get("id"), str)
        and isinstance(call.get("function"), dict)
        and isinstance(call["function"].get("name"), str)
        and "arguments" in call["function"]
        for call in calls
    )
    if not whole:
        raise Unusable("its tool calls are broken")
    return list(calls)


def _missing_stop(choice: Mapping[str, Any], text: str, params: SamplingParams) -> str:
    """The stop string that ended the reply, where the server says which and left it out."""
    stop = choice.get("stop_reason", choice.get("matched_stop"))
    return stop if isinstance(stop, str) and stop in params.stop and not text.endswith(stop) else ""


def _tokens(choice: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Sampled ids and their log-probabilities, as vLLM or SGLang give them; both or nothing."""
    ids: Sequence[Any]
    meta = choice.get("meta_info")
    if isinstance(meta, dict) and isinstance(meta.get("output_token_logprobs"), list):
        pairs = meta["output_token_logprobs"]
        try:
            ids, values = [pair[1] for pair in pairs], [pair[0] for pair in pairs]
        except (TypeError, LookupError):
            raise Unusable("its token log-probabilities are broken") from None
    else:
        ids, given = choice.get("token_ids") or (), choice.get("logprobs")
        content = given.get("content") if isinstance(given, dict) else None
        values = [one.get("logprob") if isinstance(one, dict) else None for one in content or ()]
    if not isinstance(ids, list | tuple):
        raise Unusable("its token ids are no list")
    if not ids or not values:
        return (), ()
    if len(ids) != len(values):
        raise Unusable(f"it holds {len(ids)} ids and {len(values)} log-probabilities")
    if not all(isinstance(value, int | float) and math.isfinite(value) and value <= 1e-4 for value in values):
        raise Unusable("a log-probability is no finite number of at most 0")
    return _ids(ids), tuple(min(0.0, float(value)) for value in values)


def _ids(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list | tuple) or not all(type(token) is int and token >= 0 for token in given):
        raise Unusable("a token id is no number")
    return tuple(given)


def _count(usage: Any, name: str, otherwise: int) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and count >= 0 else otherwise
