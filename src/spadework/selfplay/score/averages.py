"""How the samples of a role share its loss (method section 8): ``RowAverage`` and the package's own.

A token's weight is its sample's advantage over (samples of the batch x a length). Which length that is decides how long
samples count against short ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from spadework.config import UpdateSection
from spadework.config.training import ConstantLengthSettings
from spadework.parts import Part, Seam, check_tables


class RowAverage(Part, ABC):
    """Chooses the length that each sample's advantage is divided by."""

    @abstractmethod
    def __call__(self, lengths: Sequence[int]) -> Sequence[float]:
        """The divisor of each sample, above 0.

        Args:
            lengths: How many sampled tokens each sample of one role has; a sample is an episode or a design.
        """


class TokenMean(RowAverage):
    """The mean length of the role: a mean over its tokens, in which a long sample counts more than a short one."""

    def __call__(self, lengths: Sequence[int]) -> Sequence[float]:
        """The same for all."""
        return [sum(lengths) / len(lengths)] * len(lengths)


class SampleMean(RowAverage):
    """Each sample's own length: the mean of the samples' means, in which every sample counts alike."""

    def __call__(self, lengths: Sequence[int]) -> Sequence[float]:
        """The lengths themselves."""
        return [float(length) for length in lengths]


class ConstantLength(RowAverage):
    """One length for all batches: a token counts the same whatever else was sampled (Dr. GRPO)."""

    Settings = ConstantLengthSettings
    settings: ConstantLengthSettings

    def __call__(self, lengths: Sequence[int]) -> Sequence[float]:
        """``tokens`` for all."""
        return [float(self.settings.tokens)] * len(lengths)


AVERAGES: Seam[RowAverage] = Seam(
    kind="average",
    key="update.average",
    base=RowAverage,
    group="spadework.averages",
    own={"token_mean": TokenMean, "sample_mean": SampleMean, "constant_length": ConstantLength},
)


def build_average(section: UpdateSection, where: str = "config") -> RowAverage:
    """What ``update.average`` names. Raises ``ConfigError``; ``where`` is the config's origin."""
    check_tables(section, "update", (section.average,), where)
    return AVERAGES.build(section.average, section, where)
