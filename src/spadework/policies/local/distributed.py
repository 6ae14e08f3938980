"""Several processes, started by torchrun, that train one model: rank 0 runs everything, the others follow its orders.

An order is the name of a trainer's method and its arguments; every rank carries it out on the same rows, of which it
computes its share. Orders go through a group of their own, in which a rank may wait for as long as a cycle is played.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from spadework.policies.local.options import LocalOptions

_PATIENCE = timedelta(days=30)
"""How long a rank waits for the next order; a rank that died is noticed by its closed connection."""

LOAD = "load_model"
_END = "end"

Order = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that train one model. Orders are sent through ``channel``."""

    rank: int
    size: int
    channel: dist.ProcessGroup

    def give(self, name: str, *arguments: Any) -> None:
        """On rank 0, have the others do the same now; elsewhere nothing, for there it was ordered."""
        if self.rank == 0:
            dist.broadcast_object_list([(name, arguments)], src=0, group=self.channel)

    def orders(self) -> Iterator[Order]:
        """What rank 0 orders, until it leaves."""
        while True:
            box: list[Any] = [None]
            try:
                dist.broadcast_object_list(box, src=0, group=self.channel)
            except RuntimeError:
                return  # rank 0 is gone, and has said why
            if box[0][0] == _END:
                return
            yield box[0]

    def gather(self, value: Any) -> list[Any]:
        """Every rank's value, in the order of the ranks."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.channel)
        return values

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by the sum over the ranks: the same bits on all of them."""
        for parameter in parameters:
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)


@contextlib.contextmanager
def joined_ranks() -> Iterator[Ranks]:
    """Meet the others, once a process; meanwhile ``current_ranks`` finds them.

    At the end rank 0 sends the others home. After an error it does not: they may wait for it in the midst of a sum,
    and end when its connection closes.
    """
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    ranks = Ranks(dist.get_rank(), dist.get_world_size(), dist.new_group(backend="gloo", timeout=_PATIENCE))
    _JOINED[:] = [ranks]
    yield ranks
    ranks.give(_END)
    _JOINED.clear()
    dist.destroy_process_group()


_JOINED: list[Ranks] = []
"""One at most: like torch's own default group, it belongs to the process."""


def current_ranks() -> Ranks | None:
    """The processes that this one joined; none when it trains alone."""
    return _JOINED[0] if _JOINED else None


def lead_ranks(model: str, run_seed: int, options: LocalOptions) -> Ranks | None:
    """Have the other ranks load the model that rank 0 has loaded; none when it trains alone."""
    ranks = current_ranks()
    if ranks is not None:
        ranks.give(LOAD, model, run_seed, options)
    return ranks
