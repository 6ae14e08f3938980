import random


class AverageOfTwoNumbersEnv:
    """Find the number halfway between two numbers."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        low = rng.randint(5, 50)
        high = low + 2 * rng.randint(1, 15)
        self.answer = str((low + high) // 2)
        return f"Ben scored {low} and {high} points in two games. What is his average score?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
