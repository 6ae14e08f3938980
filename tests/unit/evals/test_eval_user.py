"""The simulated user's endpoint: its name is needed, and no key goes to a host that it was not meant for."""

import argparse

import pytest

from spadework.config import RunConfig
from spadework.config.files import override_config
from spadework.errors import ConfigError
from spadework.jobs.eval_subject import _user, _user_key


def asked(user: str, *, key: str | None = None, name: str | None = "judge") -> argparse.Namespace:
    return argparse.Namespace(user_endpoint=user, user_key_env=key, user_model=name, model=None)


@pytest.mark.parametrize(
    ("model", "user", "given", "sent"),
    [
        ("openai:big", "https://one.example/v1", None, "KEY"),
        ("openai:big", "https://two.example/v1", None, ""),
        ("openai:big", "https://two.example/v1", "OTHER", "OTHER"),
        ("smollm2-135m", "https://two.example/v1", None, "KEY"),
    ],
)
def test_eval_users_key_is_that_of_its_own_host(model: str, user: str, given: str | None, sent: str) -> None:
    told = [f"model.name={model!r}", "endpoint.urls=['https://one.example/v1']", "endpoint.key_env='KEY'"]
    assert _user_key(asked(user, key=given), override_config(RunConfig(), told)) == sent


async def test_eval_user_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="--user-model"):
        async with _user(asked("http://localhost:1/v1", name=None), RunConfig()):
            pass
