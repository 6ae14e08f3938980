import random


class SmallestOfThreeEnv:
    """Find the smallest of three numbers."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        numbers = rng.sample(range(10, 100), 3)
        a, b, c = numbers
        self.answer = str(min(numbers))
        return f"Which number is the smallest of {a}, {b} and {c}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
