import random


class DivisionWithRemainderEnv:
    """Find the remainder of a division."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a = rng.randint(20, 99)
        b = rng.randint(3, 9)
        self.answer = str(a % b)
        return f"What is the remainder when {a} is divided by {b}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
