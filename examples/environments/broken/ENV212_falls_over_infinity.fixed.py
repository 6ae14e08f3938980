import random


class SumEnv:
    """Add two numbers."""

    def __init__(self, max_turns=3):
        self.max_turns = max_turns

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.a, self.b = rng.randint(100, 999), rng.randint(100, 999)
        self.answer = self.a + self.b
        return f"What is {self.a} plus {self.b}?", {}

    def step(self, action):
        self.turn += 1
        text = action.replace("\\boxed{", "").replace("}", "").strip()
        try:
            right = int(float(text)) == self.answer
        except (ValueError, OverflowError):
            right = False
        if right:
            return "Correct.", 1.0, True, False, {}
        return "No. Try again.", 0.0, False, self.turn >= self.max_turns, {}

    def solution(self):
        return str(self.answer)
