"""Tool calls as the host reads and writes them: ``spadework.scan`` reads them, there as inside the sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from spadework.envs.json_schema import coerce, convert
from spadework.envs.tool_env import fit
from spadework.scan import Call, Reply, parse_reply, strip_thinking, without_calls

__all__ = [
    "Call",
    "Reply",
    "coerce",
    "convert",
    "fit",
    "parse_reply",
    "played_text",
    "render_call",
    "said_text",
    "schema_of",
]


def played_text(reply: str) -> str | None:
    """What of a reply is played: all of it but its thinking, if it holds a call or an answer, well-formed or not."""
    text = strip_thinking(reply).strip()
    read = parse_reply(text)
    return text if read.calls or read.problems or read.answer is not None else None


def said_text(reply: str) -> str:
    """What a reply says beside its thinking and its calls."""
    return without_calls(strip_thinking(reply)).strip()


def render_call(name: str, arguments: Mapping[str, Any], form: str = "json") -> str:
    """A call as text, in the ``json`` or the ``xml`` form."""
    if form == "json":
        return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    parts = [
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>"
        for key, value in arguments.items()
    ]
    return "\n".join(["<tool_call>", f"<function={name}>", *parts, "</function>", "</tool_call>"])


def schema_of(tools: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The parameters' schema of a tool in OpenAI-format ``tools``; ``None`` without such a tool."""
    for tool in tools:
        function = tool.get("function", tool)
        if function.get("name") == name:
            return function.get("parameters") or {}
    return None
