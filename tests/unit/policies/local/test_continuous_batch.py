from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest
import torch

from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import SamplingParams
from spadework.policies.local.models import load_model
from spadework.policies.local.policy import LocalOptions, LocalPolicy, load_local
from spadework.policies.local.sampling.continuous_batch import _spans
from spadework.policies.local.sampling.prefix_index import shared_length
from spadework.policies.local.sampling.tokens import Uniforms, sample_tokens


def make(**options: Any) -> LocalPolicy:
    merged = {"slots": 4, "parked": 3, "threads": 1, "dtype": "float32", "max_length": 256, **options}
    return load_local("tiny-random", run_seed=5, options=LocalOptions(**merged))[0]


def reference(tokens: tuple[int, ...], count: int, temperature: float) -> list[float]:
    """Log-probabilities of the last ``count`` tokens by one plain forward pass."""
    model = load_model("tiny-random", seed=5).model
    with torch.inference_mode():
        rows = torch.log_softmax(model(torch.tensor([tokens])).logits[0].float() / temperature, -1)
    return [rows[i - 1, tokens[i]].item() for i in range(len(tokens) - count, len(tokens))]


async def test_logprobs_equal_a_reference_forward_pass() -> None:
    """Rows of many lengths, more than slots, with common prefixes and several turns."""
    policy = make()
    rng = random.Random(0)

    async def play(index: int) -> None:
        chat = policy.chat([{"role": "user", "content": "p" * 40 * (index % 2) + str(index % 3)}])
        for turn in range(2):
            reply = await chat.reply(SamplingParams(rng.randint(1, 25), temperature=0.7), (index, turn))
            expected = reference(chat.segments[0].tokens, len(reply.tokens), 0.7)
            assert reply.logprobs == pytest.approx(expected, abs=1e-4)
            chat.observe({"role": "user", "content": "more"})

    await asyncio.gather(*(play(index) for index in range(14)))
    await policy.close()


async def test_a_shared_prefix_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make(slots=8)
    batch = policy._batch
    read: list[int] = []
    forward = batch._forward

    def spy(slots: Any, fresh: Any) -> Any:
        read.extend(len(tokens) for tokens in fresh if len(tokens) > 1)
        return forward(slots, fresh)

    monkeypatch.setattr(batch, "_forward", spy)
    opening = [{"role": "system", "content": "s" * 100}, {"role": "user", "content": "Go."}]
    chats = [policy.chat(opening) for _ in range(8)]
    await asyncio.gather(*(chat.reply(SamplingParams(2), (0, i)) for i, chat in enumerate(chats)))
    assert read == [chats[0].length - 2] or read == [len(chats[0].segments[0].tokens) - 2]
    chats[3].observe({"role": "user", "content": "On."})
    await chats[3].reply(SamplingParams(2), (1, 3))
    assert read[1] < 60, "the second turn starts where the first one ended"
    await policy.close()


async def test_short_replies_do_not_wait_for_long_ones() -> None:
    policy = make(slots=2)
    order: list[str] = []

    async def ask(name: str, tokens: int) -> None:
        await policy.sample((65, 66), SamplingParams(tokens, temperature=1.0), (len(name), tokens))
        order.append(name)

    await asyncio.gather(ask("long", 200), *(ask(f"short{i}", 3) for i in range(6)))
    assert order[-1] == "long"
    await policy.close()


async def test_stop_strings_end_a_reply_and_stay_in_it() -> None:
    policy = make()
    long = await policy.sample((65, 66), SamplingParams(40, temperature=1.0), (1,))
    stop = long.text[5:7]
    cut = await policy.sample((65, 66), SamplingParams(40, temperature=1.0, stop=(stop,)), (1,))
    assert cut.finish_reason == "stop"
    assert long.text.startswith(cut.text)
    assert cut.text.endswith(stop)
    await policy.close()


async def test_a_grammar_binds_the_reply() -> None:
    pytest.importorskip("llguidance")
    policy = make()
    bound = SamplingParams(30, temperature=1.0, grammar='start: "a=" /[0-9]{2,4}/ ";"')
    replies = await asyncio.gather(*(policy.sample((65,), bound, (i,)) for i in range(6)))
    for reply in replies:
        assert reply.finish_reason == "stop"
        assert reply.text.startswith("a=") and reply.text.endswith(";")
        assert reply.text[2:-1].isdigit()
        assert reply.logprobs[:2] == pytest.approx((0.0, 0.0), abs=1e-5), "forced tokens are certain"
    with pytest.raises(ConfigError, match="grammar"):
        await policy.sample((65,), SamplingParams(5, grammar="start: ("), (0,))
    await policy.close()


async def test_weights_may_change_in_the_middle_of_a_reply() -> None:
    policy = make()
    task = asyncio.create_task(policy.sample((65, 66, 67), SamplingParams(60, temperature=0.0), (0,)))
    await asyncio.sleep(0.01)
    weights = {name: p.clone() for name, p in policy._model.named_parameters()}
    await policy.run(lambda: policy.set_weights(weights))
    reply = await task
    assert reply.tokens == (await policy.sample((65, 66, 67), SamplingParams(60, temperature=0.0), (0,))).tokens
    await policy.close()


async def test_a_model_that_fails_fails_its_requests_and_no_more() -> None:
    policy = make()
    forward = policy._batch._forward
    policy._batch._forward = lambda *_: (_ for _ in ()).throw(RuntimeError("out of memory"))  # type: ignore[method-assign]
    with pytest.raises(PolicyError, match="out of memory"):
        await policy.sample((65,), SamplingParams(5), (0,))
    policy._batch._forward = forward  # type: ignore[method-assign]
    assert (await policy.sample((65,), SamplingParams(5), (0,))).tokens
    await policy.close()


async def test_logits_that_are_not_finite_are_a_fault() -> None:
    policy = make()
    with torch.no_grad():
        policy._model.get_output_embeddings().weight.fill_(float("nan"))
    with pytest.raises(PolicyError, match="NOT_FINITE"):
        await policy.sample((65,), SamplingParams(5), (0,))
    await policy.close()


async def test_closing_ends_those_who_wait() -> None:
    policy = make()
    task = asyncio.create_task(policy.sample((65,), SamplingParams(200), (0,)))
    await asyncio.sleep(0.005)
    await policy.close()
    with pytest.raises(PolicyError, match="CLOSED"):
        await task


def test_draws_follow_the_distribution() -> None:
    logits = torch.log(torch.tensor([[0.1, 0.2, 0.3, 0.4]])).repeat(4000, 1)
    uniforms = Uniforms(0, (1, 2))
    params = [SamplingParams(1, temperature=1.0)] * 4000
    tokens, logprobs = sample_tokens(logits, params, [uniforms.next() for _ in params])
    for token, share in enumerate((0.1, 0.2, 0.3, 0.4)):
        assert tokens.count(token) / 4000 == pytest.approx(share, abs=0.03)
    assert logprobs[0] == pytest.approx(torch.log(torch.tensor((tokens[0] + 1) / 10)).item(), abs=1e-5)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [({"top_k": 2}, {2, 3}), ({"top_p": 0.6}, {2, 3}), ({"top_p": 0.3}, {3}), ({"temperature": 0.0}, {3})],
)
def test_truncated_draws_are_renormalised(options: dict[str, float], allowed: set[int]) -> None:
    logits = torch.log(torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]]))
    params = [SamplingParams(1, **{"temperature": 1.0, **options}), SamplingParams(1, temperature=1.0)]  # type: ignore[arg-type]
    for uniform in (0.0, 0.3, 0.7, 1.0 - 2.0**-24):
        tokens, logprobs = sample_tokens(logits, params, [uniform, uniform])
        assert tokens[0] in allowed
        share = {2: 0.3, 3: 0.4}[tokens[0]] / sum({2: 0.3, 3: 0.4}[token] for token in allowed)
        assert logprobs[0] == pytest.approx(torch.log(torch.tensor(share)).item(), abs=1e-5)
        assert logprobs[1] == pytest.approx(torch.log(torch.tensor(0.25)).item(), abs=1e-5)


def test_a_forbidden_token_is_never_drawn() -> None:
    logits = torch.tensor([[0.0, float("-inf"), 0.0, float("-inf")]])
    for uniform in (0.0, 0.4999, 0.5, 1.0 - 2.0**-24):
        assert sample_tokens(logits, [SamplingParams(1)], [uniform])[0][0] in (0, 2)


def test_common_prefixes() -> None:
    assert [
        shared_length(one, other) for one, other in (("", "abc"), ("abc", "abc"), ("abd", "abc"), ("x", "abc"))
    ] == [
        0,
        3,
        2,
        0,
    ]
    rng = random.Random(0)
    for _ in range(200):
        one, other = ([rng.randint(0, 1) for _ in range(rng.randint(0, 6))] for _ in range(2))
        expected = next(
            (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
        )
        assert shared_length(one, other) == expected


def test_spans_cover_every_row_once() -> None:
    spans = _spans([3000, 3000, 10, 10, 5000, 1])
    assert spans[0][0] == 0 and spans[-1][1] == 6
    assert all(stop == start for (_, stop), (start, _) in itertools.pairwise(spans))
