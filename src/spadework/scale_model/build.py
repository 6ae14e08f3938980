"""The build of the scale model, from tokenizer and pretraining to the folder that ships with the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spadework.config import RunConfig
from spadework.errors import ConfigError
from spadework.lessons.rows import Lessons, lesson_texts
from spadework.types import derive_seed


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How the model is built. The weights that ship were built with the defaults."""

    seed: int = 0
    steps: int = 2000
    plays: int = 64
    """Rows of plays a step."""
    designs: int = 6
    """Rows of designs a step."""
    texts: int = 1500
    """Lessons that the tokenizer is fitted to."""
    threads: int = 2
    save_every: int = 100
    """Steps between two writes of the unfinished state."""


def build_scale_model(
    out: Path, config: RunConfig, settings: BuildSettings, on_step: Callable[[int, float, float], None]
) -> None:
    """Build the model and write it to the folder ``out``, whole or not at all.

    The state of an unfinished build is kept beside ``out``, and the next build goes on from it.

    Args:
        out: The Hugging Face folder to write.
        config: A config of the runs that the model is made for: their prompts are taught.
        settings: How it is built.
        on_step: Called with the steps done, the loss of the plays and the loss of the designs.

    Raises:
        ConfigError: The extra ``local`` is not installed.
    """
    try:
        from spadework.policies.template import HFTemplate
        from spadework.scale_model import architecture, pretrain
    except ImportError as error:
        raise ConfigError(
            f"building needs the extra `local` ({error.name} is missing): pip install 'spadework[local]'"
        ) from None
    tokenizer = architecture.build_tokenizer(lesson_texts(config, settings.seed, settings.texts))
    template = HFTemplate(tokenizer)

    def draw(step: int) -> tuple[list[pretrain.Row], list[pretrain.Row]]:
        lessons = Lessons(config, template, derive_seed(settings.seed, "lessons", step))
        return [lessons.play() for _ in range(settings.plays)], [lessons.design() for _ in range(settings.designs)]

    state = out.with_name(f".{out.name}.state")
    model = architecture.build_model(len(tokenizer), settings.seed)
    pretrain.use_threads(settings.threads)
    pretrain.pretrain(model, draw, pretrain.Schedule(settings.steps, save_every=settings.save_every), state, on_step)
    architecture.write_model(out, model, tokenizer)
    state.unlink(missing_ok=True)
