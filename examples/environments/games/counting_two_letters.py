import random


class CountingTwoLettersEnv:
    """Count two letters in a row of letters."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a, b = rng.randint(2, 6), rng.randint(2, 6)
        row = "x" * a + "o" * b
        self.answer = f"{a} {b}"
        return f"In the row {row} how often does x occur, and how often o?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
