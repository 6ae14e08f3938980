"""An exception in the model's thread reaches everyone who waits, with its cause."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import pytest

from spadework.errors import FaultError, ModelError, error_of
from spadework.policies.base import SamplingParams
from spadework.policies.local.sampling.sampler import LocalSampler
from spadework.types import Fault, FaultKind


class FailingBatch:
    """A ``ContinuousBatch`` whose every step raises the next of ``errors``."""

    free, active = 4, 1

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.aborted = list(errors), 0

    def step(self, admitted: Any) -> Any:
        raise self.errors.pop(0)

    def abort(self) -> None:
        self.aborted += 1


@pytest.mark.parametrize(
    "error", [TypeError("a tensor, not a list"), IndexError("7"), KeyError("x"), AssertionError(), RuntimeError("out")]
)
async def test_any_exception_of_the_model_is_a_fault_of_the_model_that_names_it(error: Exception) -> None:
    batch = FailingBatch(error, error)
    engine = LocalSampler(batch, None, ThreadPoolExecutor(1), deterministic=False)  # type: ignore[arg-type]
    for asked in (2, 1):  # the engine goes on: the next request meets a model that may work again
        waiting = [engine.sample([1, 2], SamplingParams(4), (number,)) for number in range(asked)]
        for caught in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(caught, ModelError)
            assert (caught.fault.kind, caught.fault.code) == ("model", "ENGINE")
            assert caught.fault.message == f"the model failed: {type(error).__name__}: {error}"
            assert "in step" in caught.fault.detail and type(error).__name__ in caught.fault.detail
    assert batch.aborted == 2
    await engine.close()


@pytest.mark.parametrize("kind", get_args(FaultKind))
def test_every_kind_of_fault_has_an_error_that_carries_it(kind: FaultKind) -> None:
    fault = Fault(kind, "CODE", "why", "where")
    with pytest.raises(FaultError) as caught:
        raise error_of(fault)
    assert caught.value.fault == fault
