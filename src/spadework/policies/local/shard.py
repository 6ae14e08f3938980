"""A model that does not fit one device: weights, gradients and moments divided among the ranks by torch's own FSDP2."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from spadework.policies.local.target_pass import TargetPass


def shard_model(model: TargetPass, device: str) -> None:
    """Divide the weights; a layer's are gathered for its pass alone. Gradients are summed over the ranks, not averaged.

    Args:
        model: Whole, the same on every rank; its parameters are replaced.
        device: Kind of device that it lies on.
    """
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    for part in (*model.model.get_decoder().layers, model):
        fully_shard(part, mesh=mesh)
        assert isinstance(part, FSDPModule)
        part.set_gradient_divide_factor(1.0)
        part.set_force_sum_reduction_for_comms(True)  # gloo has no scaled sum


def whole(tensor: Tensor) -> Tensor:
    """A divided tensor put together; others as they are. Every rank must call it."""
    return tensor.full_tensor().detach() if isinstance(tensor, DTensor) else tensor


def whole_on_first(tensor: Tensor) -> Tensor:
    """``whole``, kept in the main memory of rank 0 and nowhere else."""
    if not isinstance(tensor, DTensor):
        return tensor
    full = whole(tensor)
    return full.cpu() if dist.get_rank() == 0 else torch.empty(0)


def part_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """The share of a whole tensor that the rank holds of ``parameter``; the tensor itself where that is not divided."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    return distribute_tensor(tensor, parameter.device_mesh, parameter.placements, src_data_rank=None)
