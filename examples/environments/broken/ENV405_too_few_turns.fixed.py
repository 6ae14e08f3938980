import random


class ReverseEnv:
    """Spell a word backwards."""

    budget = 6
    max_turns = 9

    def __init__(self):
        self.turn = self.done = 0

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = self.done = 0
        self.times = 1
        self.word = "".join(rng.choice("abcdefghikmnoprstu") for _ in range(6))
        return f"Spell '{self.word}' backwards, {self.times} time{'s' * (self.times > 1)} one letter a turn.", {}

    def step(self, action):
        text = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        self.turn += 1
        if text != self.word[-self.turn]:
            return "Wrong.", 0.0, True, False, {}
        self.done += 1
        if self.done == 6:
            return "All right.", 1.0, True, False, {}
        return "Go on.", 0.0, False, self.turn >= self.budget, {}

    def solution(self):
        return self.word[-1 - self.turn]
