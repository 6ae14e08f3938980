"""What the pages read out of prompts and tokens."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from spadework.config import RunConfig
from spadework.envs.registry import find_domain
from spadework.selfplay.design.prompts import load_prompt
from spadework.viewer import trials
from spadework.viewer.pages import document_of
from spadework.viewer.token_text import token_texts

DOCUMENT = "Two lines,\nof which (one) has: a colon."


@pytest.mark.parametrize("domain", ["games", "tool_use"])
@pytest.mark.parametrize("form", ["", "_skeleton"])
def test_the_document_is_found_in_every_prompt(domain: str, form: str) -> None:
    template = load_prompt(find_domain(domain), f"designer{form}")
    prompts = [template.safe_substitute(title="A (b)", document=text) for text in ("an example", DOCUMENT)]
    assert document_of("\n\n".join(prompts)) == DOCUMENT


def test_no_document_is_no_document() -> None:
    assert document_of("Write one.") == document_of("") == ""


def test_tokens_of_the_shipped_model_are_words() -> None:
    pytest.importorskip("transformers", reason="needs the extra local")
    from transformers import AutoTokenizer

    from spadework.resources import scale_weights

    texts = token_texts("scale")
    assert texts is not None
    tokens = AutoTokenizer.from_pretrained(scale_weights()).encode("class Sums: return p, q")
    assert len(tokens) > 5 and "".join(texts(tokens)) == "class Sums: return p, q"
    assert token_texts("/no/such/folder") is None


def test_a_tokenizer_is_loaded_once_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    second = threading.Event()

    def load(name: str) -> trials.TokenTexts | None:
        loads.append(name)
        if len(loads) > 1:
            second.set()
        second.wait(0.2)  # time for another thread to begin a second load
        return token_texts("scripted")

    monkeypatch.setattr(trials, "token_texts", load)
    tools = trials.build_tools(RunConfig())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(tools.token_texts, [RunConfig()] * 4))
    assert None not in found and len(loads) == 1
