import random


class ReverseEnv:
    """Spell a word backwards."""

    words = ()
    max_turns = 4

    def __init__(self):
        self.turn = self.done = 0

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = self.done = 0
        self.times = rng.randint(1, 3)
        self.word = "".join(rng.choice("abcdefghikmnoprstu") for _ in range(6))
        self.words = (self.word,)
        return f"Spell '{self.word}' backwards, {self.times} time{'s' * (self.times > 1)} in a row, one a turn.", {}

    def step(self, action):
        text = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        self.turn += 1
        if text != self.word[::-1]:
            return "Wrong.", 0.0, True, False, {}
        self.done += 1
        if self.done == self.times:
            return "All right.", 1.0, True, False, {}
        return "Go on.", 0.0, False, self.turn >= self.max_turns, {}

    def solution(self):
        return self.word[::-1]
