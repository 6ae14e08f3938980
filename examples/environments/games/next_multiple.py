import random


class NextMultipleEnv:
    """Find the first multiple after a number."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        number = rng.randint(20, 90)
        step = rng.randint(3, 9)
        self.answer = str((number // step + 1) * step)
        return f"Which is the first multiple of {step} that is larger than {number}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
