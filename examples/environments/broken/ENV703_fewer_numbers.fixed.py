import random


class SumEnv:
    """Find the number by bisection."""

    def __init__(self, max_turns=4, difficulty=0):
        self.max_turns, self.limit = max_turns, 60 + 11 * difficulty

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.answer = rng.randint(1, self.limit)
        return f"Guess a number from 1 to {self.limit}.", {}

    def step(self, action):
        self.turn += 1
        text = action.replace("\\boxed{", "").replace("}", "").strip()
        right = text.isdigit() and int(text) == self.answer
        if right:
            return "Correct.", 1.0, True, False, {}
        told = "Higher." if text.isdigit() and int(text) < self.answer else "Lower."
        return told, 0.0, False, self.turn >= self.max_turns, {}

    def solution(self):
        return str(self.answer)
