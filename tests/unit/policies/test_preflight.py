"""An endpoint that is dead, refuses or answers nonsense is named before it is asked in earnest; fields may be refused."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from typing import Any

import pytest

from spadework.config import EndpointSection
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import SamplingParams
from spadework.policies.server.openai import OpenAICompatPolicy
from spadework.policies.server.openai_wire import Unusable, read_answer
from spadework.policies.server.preflight import preflight
from spadework.policies.server.refusals import message_of, refused_fields
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import Manners, StandIn


def policy_of(*urls: str, model: str = "demo", **settings: Any) -> OpenAICompatPolicy:
    return OpenAICompatPolicy(EndpointSection(urls=urls, **settings), model)


def serving(manners: Manners | None = None) -> StandIn:
    return StandIn(ScriptedPolicy(lambda messages, rng, version: "yes"), manners)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def answering(status: str, body: str) -> asyncio.Server:
    """A server that gives one and the same answer to everything."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = [int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length")]
        await reader.readexactly(length[0] if length else 0)
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


async def test_a_dead_endpoint_is_named_within_seconds() -> None:
    url, began = f"http://127.0.0.1:{free_port()}/v1", time.monotonic()
    with pytest.raises(ConfigError, match=f"'demo' gives no answer: {url} cannot be reached: Connection refused"):
        await preflight(policy_of(url))
    assert time.monotonic() - began < 5


async def test_a_name_that_is_nowhere_is_named() -> None:
    with pytest.raises(ConfigError, match=r"http://nowhere.invalid/v1 cannot be reached: .*(not known|resolution)"):
        await preflight(policy_of("http://nowhere.invalid/v1"))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        ("401 Unauthorized", '{"error": {"message": "no such key"}}', "answered 401: no such key"),
        ("400 Bad", '{"detail": "no such thing"}', "answered 400: no such thing"),
        ("500 Oops", "<html>it is broken</html>", "answered 500: <html>it is broken"),
        ("200 OK", "<html>a login page</html>", "answered what is no JSON: '<html>a login page"),
        ("200 OK", '{"hello": "world"}', r'it holds no choice; it begins with \{"hello": "world"\}'),
    ],
)
async def test_a_refusal_and_nonsense_are_told_with_status_and_body(status: str, body: str, said: str) -> None:
    async with await answering(status, body) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(ConfigError, match=f"{url}.* {said}"):
            await preflight(policy_of(url))


async def test_a_wrong_name_is_told_with_the_names_that_are_served() -> None:
    async with serving(Manners(models=("one", "two"))) as server:
        with pytest.raises(ConfigError, match=r"answered 404: The model `demo` does not exist.. It serves one, two"):
            await preflight(policy_of(server.url))
        await preflight(policy_of(server.url, model="two"))


async def test_a_forgotten_v1_is_told() -> None:
    async with await answering("404 Not Found", '{"detail": "Not Found"}') as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"Does its address end in /v1. Try {url}/v1"):
            await preflight(policy_of(url))


async def test_every_address_is_asked_and_counted_and_other_policies_are_left_alone() -> None:
    async with serving() as one, serving() as two:
        policy = policy_of(one.url, two.url)
        await preflight(policy, None, ScriptedPolicy(lambda messages, rng, version: "yes"))
        assert (one.served, two.served) == (1, 1)
        assert policy.take_metrics()["endpoint/requests"] == 2
        with pytest.raises(ConfigError, match="cannot be reached"):
            await preflight(policy_of(one.url, f"http://127.0.0.1:{free_port()}/v1"))


async def test_a_refused_field_is_left_out_after_one_try_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    params = SamplingParams(8, top_k=20)
    async with serving(Manners(refuses=("top_k", "seed"))) as server:
        policy = policy_of(server.url, retries=0)
        with caplog.at_level(logging.WARNING):
            replies = await asyncio.gather(
                *(policy.chat([{"role": "user", "content": "Go."}]).reply(params, (i,)) for i in range(8))
            )
            await policy.chat([{"role": "user", "content": "Go."}]).reply(params, (9,))
        assert {reply.text for reply in replies} == {"yes"}
        assert policy.dropped == ("seed", "top_k")
        assert server.met["refused"] <= 8 and not {"seed", "top_k"} & set(server.requests[-1])
        assert len(server.requests) == server.met["refused"] + 9
        (said,) = caplog.messages
        assert "answered 422" in said and "without the refused seed, top_k" in said
        await policy.close()


async def test_what_a_request_cannot_go_without_stays_in_it() -> None:
    async with serving(Manners(refuses=("max_tokens", "chat_template_kwargs"))) as server:
        policy = policy_of(server.url, extra={"chat_template_kwargs": {}})
        with pytest.raises(PolicyError, match="Unexpected fields") as caught:
            await policy.chat([{"role": "user", "content": "Go."}]).reply(SamplingParams(8), (0,))
        assert (caught.value.fault.code, len(server.requests), policy.dropped) == ("REFUSED", 1, ())
    async with serving(Manners(refuses=("continue_final_message",))) as server:
        chat = policy_of(server.url).chat([{"role": "user", "content": "Go."}], prefill="class ")
        with pytest.raises(PolicyError, match=r"set designer.skeleton = false"):
            await chat.reply(SamplingParams(8), (0,))


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"detail": "Unexpected fields in the request: {'top_k'}"}, {"top_k"}),
        ({"error": {"message": "Unrecognized request argument supplied: top_k"}}, {"top_k"}),
        ({"error": {"message": "Unsupported value: 'temperature' does not support 0.6", "param": "temperature"}}, {"temperature"}),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, {"seed"}),
        ({"detail": [{"type": "int_parsing", "loc": ["body", "seed"], "msg": "no number"}]}, set()),
        ({"error": {"message": "the temperature of this machine room is too high"}}, set()),
        ({"error": {"message": "Unsupported model"}}, set()),
        (["no", "object"], set()),
    ],
)  # fmt: skip
def test_refused_fields_are_read_from_the_forms_that_servers_write(body: Any, fields: set[str]) -> None:
    assert refused_fields(json.dumps(body).encode(), {"top_k", "temperature", "seed", "top_p"}) == fields


def test_the_message_of_a_body_is_found() -> None:
    assert message_of(b'{"error": "short"}') == "short"
    assert message_of(b'{"detail": [{"loc": ["body", "n"], "msg": "too many"}, 7]}') == "body.n: too many; 7"
    assert message_of(b"<html>") == "<html>"


def test_a_reply_that_is_cut_before_it_says_anything_is_an_empty_one() -> None:
    def answer(reason: str) -> Any:
        return {"choices": [{"finish_reason": reason, "message": {"role": "assistant", "content": None}}]}

    assert read_answer(answer("length"), SamplingParams(4)).text == ""
    with pytest.raises(Unusable, match="holds no text"):
        read_answer(answer("stop"), SamplingParams(4))
