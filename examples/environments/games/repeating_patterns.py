import random


class RepeatingPatternsEnv:
    """Continue a repeating row of colours."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        block = rng.sample("red blue green pink white black gold".split(), 3)
        size = rng.randint(5, 8)
        row = [block[i % 3] for i in range(size)]
        self.answer = block[size % 3]
        return f"Which colour comes next: {', '.join(row)}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
