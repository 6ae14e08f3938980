r"""An environment as a ``gymnasium.Env`` (extra ``gymnasium``): observations and actions are text.

Example:
    env = spadework.interop.gymnasium.make("code_breaker")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("I guess \boxed{ABC}.")
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
from gymnasium import spaces

from spadework.api.inputs import ConfigSource, EnvironmentSource
from spadework.envs.sandbox.base import Limits
from spadework.interop.episodes import Episodes

LONGEST_REPLY = 100_000
"""Characters of an action."""
_SAMPLED = string.ascii_letters + string.digits + string.punctuation + " \n"
_SAMPLED_LENGTH = 64


class AnyText(spaces.Text):
    """Text in any script. ``spaces.Text`` holds one closed alphabet only; this one samples from printable ASCII.

    Args:
        max_length: characters.
    """

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length=max_length, min_length=0, charset=_SAMPLED)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text."""
        length = int(self.np_random.integers(_SAMPLED_LENGTH))
        return str(super().sample(mask=mask or (length, None)))


class SpadeworkEnv(gymnasium.Env[str, str]):
    """One environment program.

    An action is a whole reply, as a language model says it. ``reset(seed=...)`` decides the task; without a seed, one
    is drawn from ``np_random``. The reward is 0 until the end, and the episode's return then. ``info`` holds ``seed``
    and ``instructions`` (the system prompt) after ``reset``, and ``step_reward`` after ``step``.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012 - the attribute that Gymnasium reads

    def __init__(
        self,
        environment: EnvironmentSource,
        hint: bool = False,
        config: ConfigSource | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self.observation_space = AnyText(2 * Limits().max_observation)  # the program's opening, and the hint below it
        self.action_space = AnyText(LONGEST_REPLY)
        self._episodes = Episodes(environment, hint=hint, config=config)
        self._observation = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode. Raises ``ProgramError`` or ``SandboxError``."""
        super().reset(seed=seed)
        task = int(self.np_random.integers(2**31)) if seed is None else seed
        self._observation = self._episodes.reset(task)
        return self._observation, {"seed": task, "instructions": self._episodes.instructions}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one reply. Raises ``ProgramError`` or ``SandboxError``: a fault is never a reward."""
        played = self._episodes.step(action)
        self._observation = played.observation
        info = {"step_reward": played.step_reward}
        return played.observation, played.reward, played.terminated, played.truncated, info

    def render(self) -> str:  # type: ignore[override]
        """What the agent sees now."""
        return self._observation

    def close(self) -> None:
        """Free the sandbox's instance."""
        self._episodes.close()


def make(environment: EnvironmentSource, hint: bool = False, config: ConfigSource | None = None) -> SpadeworkEnv:
    """The Gymnasium environment of one program.

    Args:
        environment: an ``Environment``, the text of a program, or the path or name of one.
        hint: whether the environment's hint is shown.
        config: limits, turns, system prompt and return type; the defaults where it is ``None``.

    Raises:
        ConfigError: the environment cannot be read, or has no hint to show.
    """
    return SpadeworkEnv(environment, hint, config)


def register(name: str, environment: EnvironmentSource) -> None:
    """Register a program under ``name`` (``"spadework/CodeBreaker-v0"``), so that ``gymnasium.make`` and ``make_vec``
    find it. In ``make_vec`` use ``vectorization_mode="sync"``, or ``"async"`` with ``shared_memory=False``: the shared
    memory holds texts of a closed alphabet only.
    """
    gymnasium.register(name, entry_point=SpadeworkEnv, kwargs={"environment": environment}, order_enforce=True)
