import random


class StoryOfCausesEnv:
    """Answer two questions about a story."""

    max_turns = 2

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn, self.right = 0, 0
        a, b, c, d = rng.sample("storm flood delay quarrel fire panic crash hunger frost".split(), 4)
        self.answers = [a, d]
        self.ask = f"What did the {c} cause?"
        return f"The {c} caused the {d}. The {a} caused the {b}. The {b} caused the {c}. What caused the {b}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        self.right += guess.removeprefix("the ") == self.answers[self.turn]
        self.turn += 1
        if self.turn < self.max_turns:
            return self.ask, 0.0, False, False, {}
        return "That was the last question.", self.right / 2, True, False, {}

    def solution(self):
        return self.answers[self.turn]
