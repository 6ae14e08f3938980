"""Leaks, grading and levels: entries of the catalogue."""

from __future__ import annotations

from spadework.envs.check.codes.entry import Code

LEAKS = {
    "ENV501": Code(
        "error",
        "the first observation gives the answer away",
        "Copying it wins.",
        'f"Find x. (answer: {self.x})"',
        'f"Find x: {a}x = {a * self.x}"',
    ),
    "ENV502": Code(
        "error",
        "feedback reveals the answer before the end",
        "A player who errs once can copy it.",
        'f"Wrong, it is {self.x}. Try again."',
        '"Wrong, too low. Try again."',
    ),
    "ENV503": Code(
        "error",
        "the hint contains the solution",
        "Regret would then measure copying, not help.",
        "Answer 42.",
        "Split the sum into pairs that make 100.",
    ),
    "ENV504": Code(
        "error",
        "the hint contains a hidden value",
        "A tool-use hint is a plan: ids, paths and amounts must be looked up.",
        "Cancel order #W2417.",
        "Look up the customer's latest order, then cancel it.",
    ),
    "ENV505": Code(
        "info",
        "the first observation prints a formula",
        "The governing rule is given where it might have been found out.",
        '"The area is A = w * h. w=3, h=4."',
        '"A field is 3 by 4."',
    ),
    "ENV506": Code("warning", "a hint of over 100 words", "Hints are short: the key insight and the answer's format."),
    "ENV507": Code(
        "warning",
        "info holds the answer",
        "The player of this library is not shown info, but other frameworks show it.",
        'return opening, {"answer": self.answer}',
        "return opening, {}",
    ),
}

GRADING = {
    "ENV601": Code(
        "info",
        "an equivalent answer is rejected",
        "Spaces, case, a trailing period or 0.5 for 1/2 mean the same.",
        "action == '\\\\boxed{4}'",
        "number(action) == 4",
    ),
    "ENV602": Code(
        "error",
        "a wrong answer is accepted",
        "A near miss of the right answer wins.",
        "str(self.answer).startswith(action)",
        "action == str(self.answer)",
    ),
    "ENV603": Code(
        "error",
        "naming many answers wins",
        "The grader looks for the answer anywhere in the text.",
        "if str(self.answer) in action: ...",
        "if action.strip() == str(self.answer): ...",
    ),
}

DIFFICULTY = {
    "ENV701": Code(
        "error",
        "a level cannot be played or won",
        "Every level from 0 up must build, reset and be won by solution().",
        "self.size = 5 - difficulty  # empty from level 5 on",
        "self.size = 5 + difficulty",
    ),
    "ENV702": Code(
        "error",
        "levels do not matter",
        "The lowest and the highest level give the same tasks.",
        "def __init__(self, difficulty=0): self.difficulty = difficulty  # and nobody reads it",
        "def reset(self, seed=None): digits = 2 + self.difficulty",
    ),
    "ENV703": Code(
        "error",
        "a higher level is easier",
        "A player who knows little wins more of it: levels must ascend.",
        "limit = 50 - 10 * difficulty",
        "limit = 10 + 10 * difficulty",
    ),
    "ENV704": Code(
        "warning",
        "nothing shows that a higher level is harder",
        "No more turns, text or answers, and no player wins less. See it with a model: spadework play --levels.",
        "self.offset = difficulty",
        "self.steps = 3 + difficulty",
    ),
}
