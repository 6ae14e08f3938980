"""The checkpoint of a local trainer: weights and moments as safetensors beside one JSON index, never a pickle.

A checkpoint is written into a folder beside its own and then renamed, so that a killed run leaves no torn one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from spadework.errors import RunError
from spadework.policies.hyperparameters import ALL_ROLES
from spadework.policies.local.training.optimizers import Moments

_WEIGHTS, _INDEX = "weights.safetensors", "trainer.json"
_FORMAT = 2
_ONE_SET = {ALL_ROLES: "optimizer.safetensors"}
"""The moments of format 1, which always has one set and does not list it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a trainer needs to go on."""

    weights: Mapping[str, Tensor]
    """Trained weights by name."""
    moments: Mapping[str, Moments]
    """By the role that takes optimiser steps of its own; under ``ALL_ROLES`` where one step takes all rows."""
    version: int
    """Of the policy."""
    lora_rank: int
    """Of the adapter; 0 without one."""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the folder ``path``; what stood there is replaced only once the new one is whole."""
    from safetensors.torch import save_file

    aside = path.with_name(f".{path.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    weights = {name: value.detach().contiguous() for name, value in checkpoint.weights.items()}
    save_file(weights, aside / _WEIGHTS)
    files = {role: f"optimizer-{role}.safetensors" if role else _ONE_SET[role] for role in checkpoint.moments}
    for role, moments in checkpoint.moments.items():
        save_file(_flat(moments), aside / files[role])
    index = {
        "format": _FORMAT,
        "version": checkpoint.version,
        "lora_rank": checkpoint.lora_rank,
        "moments": files,
        "sizes": {name: (aside / name).stat().st_size for name in (_WEIGHTS, *files.values())},
    }
    (aside / _INDEX).write_text(json.dumps(index, indent=1))
    replace_folder(aside, path)


def replace_folder(aside: Path, path: Path) -> None:
    """Put the folder ``aside`` where ``path`` is; at every moment one of the two is whole."""
    if path.exists():
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.replace(old)
        aside.replace(path)
        shutil.rmtree(old)
    else:
        aside.replace(path)


def read_checkpoint(path: Path, shapes: Mapping[str, torch.Size], lora_rank: int) -> Checkpoint:
    """Read what ``write_checkpoint`` wrote, now or in format 1.

    Args:
        path: The checkpoint's folder.
        shapes: The shape that each weight must have.
        lora_rank: The rank that the adapter must have.

    Raises:
        RunError: The folder is missing, torn, or of another model.
    """
    from safetensors.torch import load_file

    try:
        index = json.loads((path / _INDEX).read_text())
        whole = all((path / name).stat().st_size == size for name, size in index["sizes"].items())
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"The checkpoint {path} cannot be read ({error}). Resume from an earlier one.") from error
    if not whole or index["format"] not in (1, _FORMAT):
        raise RunError(f"The checkpoint {path} is torn or of another version. Resume from an earlier one.")
    weights = load_file(path / _WEIGHTS)
    if index["lora_rank"] != lora_rank or {name: value.shape for name, value in weights.items()} != dict(shapes):
        raise RunError(f"The checkpoint {path} was written for another model or adapter than the one configured.")
    files = index.get("moments", _ONE_SET)
    moments = {role: _nested(load_file(path / name)) for role, name in files.items()}
    return Checkpoint(weights, moments, int(index["version"]), lora_rank)


def _flat(moments: Moments) -> dict[str, Tensor]:
    """Moments with one name each, ``WEIGHT/STATE``, as safetensors takes them."""
    flat = {}
    for name, state in moments.items():
        for key, value in state.items():
            flat[f"{name}/{key}"] = torch.as_tensor(value).contiguous()
    return flat


def _nested(flat: Mapping[str, Tensor]) -> Moments:
    moments: Moments = {}
    for name, value in flat.items():
        weight, _, key = name.rpartition("/")
        moments.setdefault(weight, {})[key] = value
    return moments
