import random


class SumEnv:
    """Add numbers, the more the higher the level."""

    def __init__(self, max_turns=3, difficulty=0):
        self.max_turns, self.difficulty = max_turns, difficulty

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        numbers = [rng.randint(100, 999) for _ in range(2 + self.difficulty)]
        self.answer = sum(numbers)
        return f"What is {' plus '.join(map(str, numbers))}?", {}

    def step(self, action):
        self.turn += 1
        text = action.replace("\\boxed{", "").replace("}", "").strip()
        right = text.isdigit() and int(text) == self.answer
        if right:
            return "Correct.", 1.0, True, False, {}
        return "No. Try again.", 0.0, False, self.turn >= self.max_turns, {}

    def solution(self):
        return str(self.answer)
