import random


class LargerNumberEnv:
    """Pick the larger of two numbers."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a, b = rng.sample(range(10, 100), 2)
        self.answer = str(max(a, b))
        return f"Which number is larger, {a} or {b}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
