import random


class TwoBestScoresEnv:
    """Add the two best of three scores."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        name = rng.choice(["Ana", "Ben", "Cleo", "Dan"])
        a, b, c = rng.sample(range(5, 40), 3)
        self.answer = str(a + b + c - min(a, b, c))
        return f"{name} scored {a}, {b} and {c}. Only the two best scores count. What is the total?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
