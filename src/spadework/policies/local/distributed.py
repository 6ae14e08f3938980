"""Several processes, started by torchrun, that train one model, whole on each or sharded by torch's own FSDP2.

Rank 0 runs everything; the others only carry out its orders (``worker``). An order is the name of a trainer's method
and its arguments. Every rank carries it out on the same rows, of which it computes its share. Orders have a process
group of their own, in which a rank may wait for as long as a cycle is played.
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
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from spadework.policies.local.options import LocalOptions
from spadework.policies.local.training.target_pass import TargetPass

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

    def order(self, name: str, *arguments: Any) -> None:
        """On rank 0, have the other ranks call the same method now. Elsewhere do nothing: rank 0 gave this order."""
        if self.rank == 0:
            dist.broadcast_object_list([(name, arguments)], src=0, group=self.channel)

    def orders(self) -> Iterator[Order]:
        """The orders of rank 0, until it ends."""
        while True:
            box: list[Any] = [None]
            try:
                dist.broadcast_object_list(box, src=0, group=self.channel)
            except RuntimeError:
                return  # rank 0 has died and has printed why
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
    """Join the other processes; inside, ``current_ranks`` returns them. A process may do so once.

    At the end rank 0 tells the others to stop. After an error it does not, since they may be waiting for it inside a
    sum over the ranks; they stop when its connection closes.
    """
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    ranks = Ranks(dist.get_rank(), dist.get_world_size(), dist.new_group(backend="gloo", timeout=_PATIENCE))
    _JOINED[:] = [ranks]
    yield ranks
    ranks.order(_END)
    _JOINED.clear()
    dist.destroy_process_group()


_JOINED: list[Ranks] = []
"""One at most: like torch's own default group, it belongs to the process."""


def current_ranks() -> Ranks | None:
    """The ranks of ``joined_ranks``; ``None`` in a process that trains alone."""
    return _JOINED[0] if _JOINED else None


def load_on_workers(model: str, run_seed: int, options: LocalOptions) -> Ranks | None:
    """Have the other ranks load the model that rank 0 has loaded; ``None`` in a process that trains alone."""
    ranks = current_ranks()
    if ranks is not None:
        ranks.order(LOAD, model, run_seed, options)
    return ranks


def shard_model(model: TargetPass, device: str) -> None:
    """Shard the weights; those of a layer are gathered for its pass alone. Gradients are summed over the ranks.

    FSDP2 would average them, but our loss is a sum over all rows, of which each rank has computed its share.

    Args:
        model: Whole, the same on every rank; its parameters are replaced.
        device: Kind of device that it lies on.
    """
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    for part in (*model.model.get_decoder().layers, model):
        fully_shard(part, mesh=mesh)
        assert isinstance(part, FSDPModule)
        part.set_gradient_divide_factor(1.0)
        # Gloo cannot scale while it sums, so the factor must not be left to the collective.
        part.set_force_sum_reduction_for_comms(True)


def whole(tensor: Tensor) -> Tensor:
    """A sharded tensor put together; any other as it is. Every rank must call it."""
    return tensor.full_tensor().detach() if isinstance(tensor, DTensor) else tensor


def whole_on_first(tensor: Tensor) -> Tensor:
    """``whole``, kept in the main memory of rank 0 and nowhere else."""
    if not isinstance(tensor, DTensor):
        return tensor
    full = whole(tensor)
    return full.cpu() if dist.get_rank() == 0 else torch.empty(0)


def part_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """This rank's share of a whole tensor, cut as ``parameter`` is; the tensor itself where that is not sharded."""
    # A state of the optimiser may be a scalar, e.g. the number of steps; every rank keeps it whole.
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    return distribute_tensor(tensor, parameter.device_mesh, parameter.placements, src_data_rank=None)
