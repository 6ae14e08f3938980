"""What the sections of the configuration share: they are frozen, strict, and closed to unknown keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Thinking = Literal["off", "on"] | Annotated[int, Field(strict=True, ge=1)] | None
"""``off``, ``on``, or a budget in tokens; ``None``: what the model's chat template does by default."""


class Section(BaseModel):
    """Base of all sections, and of the settings of rewards and estimators that users write themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)


class OpenSection(Section):
    """A section whose ``type``-like keys may name a part that the package does not know.

    The table of such a part is kept as it was read. Whoever builds the part validates it (``spadework.parts``).
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Mapping[str, Any]] = Field(init=False)
