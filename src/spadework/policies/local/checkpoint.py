"""What a local trainer leaves on disk: safetensors and one JSON file, written aside and renamed; never a pickle."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from spadework.errors import RunError

_WEIGHTS, _MOMENTS, _INDEX = "weights.safetensors", "optimizer.safetensors", "trainer.json"
_FORMAT = 1

Moments = Mapping[str, Mapping[str, Tensor]]


def write_checkpoint(path: Path, weights: Mapping[str, Tensor], moments: Moments, version: int, lora_rank: int) -> None:
    """Write the folder ``path``; what stood there is replaced only once the new one is whole.

    Args:
        path: The checkpoint's folder.
        weights: Trained weights by name.
        moments: State of the optimiser by name of the weight, then by name of the state.
        version: Of the policy.
        lora_rank: Of the adapter, 0 without one.
    """
    from safetensors.torch import save_file

    aside = path.with_name(f".{path.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    flat = {f"{name}/{key}": value for name, state in moments.items() for key, value in state.items()}
    save_file({name: value.detach().contiguous() for name, value in weights.items()}, aside / _WEIGHTS)
    save_file({name: torch.as_tensor(value).contiguous() for name, value in flat.items()}, aside / _MOMENTS)
    sizes = {name: (aside / name).stat().st_size for name in (_WEIGHTS, _MOMENTS)}
    index = {"format": _FORMAT, "version": version, "lora_rank": lora_rank, "sizes": sizes}
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


def read_checkpoint(
    path: Path, shapes: Mapping[str, torch.Size], lora_rank: int
) -> tuple[dict[str, Tensor], dict[str, dict[str, Tensor]], int]:
    """Weights, optimiser state and version.

    Args:
        path: What ``write_checkpoint`` wrote.
        shapes: Expected of each weight.
        lora_rank: Expected.

    Raises:
        RunError: The folder is missing, torn, or of another model.
    """
    from safetensors.torch import load_file

    try:
        index = json.loads((path / _INDEX).read_text())
        whole = all((path / name).stat().st_size == size for name, size in index["sizes"].items())
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"The checkpoint {path} cannot be read ({error}). Resume from an earlier one.") from error
    if not whole or index["format"] != _FORMAT:
        raise RunError(f"The checkpoint {path} is torn or of another version. Resume from an earlier one.")
    weights = load_file(path / _WEIGHTS)
    if index["lora_rank"] != lora_rank or {name: value.shape for name, value in weights.items()} != dict(shapes):
        raise RunError(f"The checkpoint {path} was written for another model or adapter than the one configured.")
    moments: dict[str, dict[str, Tensor]] = {}
    for name, value in load_file(path / _MOMENTS).items():
        weight, _, key = name.rpartition("/")
        moments.setdefault(weight, {})[key] = value
    return weights, moments, int(index["version"])
