"""What does not fit a device is refused with the settings that make it smaller."""

from __future__ import annotations

import pytest

from spadework.errors import ConfigError

torch = pytest.importorskip("torch")


def test_a_cache_that_does_not_fit_is_refused_by_its_settings() -> None:
    from spadework.policies.local.fits import cache_bytes_a_token, check_fits
    from spadework.policies.local.models import load_model
    from spadework.policies.local.options import LocalOptions

    model = load_model("tiny-random", seed=0).model
    options = LocalOptions(slots=4, parked=2, dtype="float32", lora_rank=1)
    config = model.config
    a_token = cache_bytes_a_token(model, torch.float32)
    assert a_token == 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    needed = 4 * 257 * a_token + 8 * sum(p.numel() for p in model.parameters())
    check_fits(model, options, 256, available=needed)
    with pytest.raises(ConfigError, match=r"keys and values .* 4 rows of 256 tokens.*model\.slots"):
        check_fits(model, options, 256, available=needed - 1)
