"""Rows of word games for the warm-up of a pretrained model, in the very prompts of its run."""

from __future__ import annotations

import dataclasses
import random

from spadework import types
from spadework.config import RunConfig
from spadework.lessons.chats import design_opening, play_opening, say_design, say_play
from spadework.lessons.words import WordLessons
from spadework.policies.base import Policy
from spadework.selfplay.design.warmup import rows_of
from spadework.types import derive_seed


def lesson_rows(policy: Policy, config: RunConfig, lessons: WordLessons) -> list[types.TrainingRow]:
    """``lessons.plays`` games, each without and with its hint, and ``lessons.designs`` designs spread among them.

    The two rows of a game stand beside each other: they share their opening, which a pack then holds once.
    """
    rng = random.Random(derive_seed(config.run.seed, "lessons"))
    plays, designs = config.lessons.plays, config.lessons.designs
    rows: list[types.TrainingRow] = []
    designed = 0
    for number in range(plays):
        for play in lessons.draw_plays(rng):
            chat = policy.chat(play_opening(config, play))
            say_play(chat, play)
            rows += rows_of(chat, "agent", f"play/{number}")
        while designed * plays < (number + 1) * designs:
            design = lessons.draw_design(rng, config.designer.skills)
            if not config.memory.enabled:
                design = dataclasses.replace(design, example=None)  # no prompt of this run will show one
            messages, head = design_opening(config, design)
            chat = policy.chat(messages, prefill=head)
            say_design(config, chat, design)
            rows += rows_of(chat, "designer", f"design/{designed}")
            designed += 1
    return rows
