import random


class NextWholeNumberEnv:
    """Name the follower of a number."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        number = rng.randint(20, 400)
        self.answer = str(number + 1)
        return f"Which whole number comes right after {number}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
