import random


class MiddleOfThreeEnv:
    """Find the number between two others."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        numbers = rng.sample(range(10, 100), 3)
        a, b, c = numbers
        self.answer = str(sorted(numbers)[1])
        return f"Which of the numbers {a}, {b} and {c} is neither the largest nor the smallest?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
