"""Text games: the agent answers in a box, the program pays for the right answer."""

from __future__ import annotations

from importlib.resources import files

from spadework.domains.games_demo import demo_script
from spadework.envs.actions import last_box
from spadework.envs.check.answers import graders
from spadework.envs.check.runtime import Trial
from spadework.envs.contract import box
from spadework.envs.domain import Briefing, Checks, Dialogue, Display, Domain, Shown
from spadework.resources import shipped

SKILLS = (
    "Mathematical Reasoning",
    "Logical Deduction",
    "Spatial Reasoning",
    "Pattern Recognition",
    "Optimization",
    "Causal Inference",
)


class BoxedAnswers(Dialogue):
    """The last box of a reply is what is played."""

    def action(self, reply: str) -> str:
        """The last balanced box of a reply, boxed again; empty without one."""
        answer = last_box(reply)
        return "" if answer is None else box(answer)

    def encode(self, answer: str) -> str:
        """The answer in a box."""
        return answer if last_box(answer) is not None else box(answer)

    def decode(self, action: str) -> str | None:
        """The content of the box."""
        return last_box(action)


class GradedAnswers(Checks):
    """A game's grader must accept every way to write the right answer, and no near miss."""

    async def runtime(self, trial: Trial) -> None:
        """Varies the oracle's winning answers, where the settings ask for it."""
        if trial.bench is not None and trial.settings.grading:
            trial.findings.extend(await graders.check(trial.bench))


class BoxDisplay(Display):
    """A step of a game is its answer."""

    def step(self, action: str) -> list[Shown]:
        """The answer without its box."""
        return super().step(last_box(action) or action)


GAMES = Domain(
    name="games",
    briefing=Briefing(
        prompts=files("spadework.domains").joinpath("prompts", "games"),
        skills=SKILLS,
        active_skills=3,
        examples=shipped("examples") / "environments" / "games",
        noun="game",
    ),
    dialogue=BoxedAnswers(),
    checks=GradedAnswers(),
    display=BoxDisplay(),
    demo=demo_script,
)
