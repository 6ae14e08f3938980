import random


class SumEnv:
    """Find a hidden number."""

    def __init__(self, max_turns=8):
        self.max_turns = max_turns

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.answer = 100 + rng.randint(0, 99)
        return "I think of a number from 100 to 199. Which is it?", {}

    def step(self, action):
        self.turn += 1
        text = action.replace("\\boxed{", "").replace("}", "").strip()
        right = text == str(self.answer)
        if right:
            return "Correct.", 1.0, True, False, {}
        told = "Higher." if text.isdigit() and int(text) < self.answer else "Lower."
        return told, 0.0, False, self.turn >= self.max_turns, {}

    def solution(self):
        return str(self.answer)
