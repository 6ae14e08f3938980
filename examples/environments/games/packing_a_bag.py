import itertools
import random


class PackingABagEnv:
    """Choose the most valuable things for a bag."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        things = [(rng.randint(2, 9), rng.randint(3, 20)) for _ in range(4)]
        limit = rng.randint(9, 14)
        best = 0
        for use in itertools.product([0, 1], repeat=4):
            weight, value = [sum(u * t[k] for u, t in zip(use, things)) for k in (0, 1)]
            best = max(best, value if weight <= limit else 0)
        self.answer = str(best)
        text = ", ".join(f"weight {w} value {v}" for w, v in things)
        return f"{text}. A bag holds weight {limit}. What is the largest total value?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
