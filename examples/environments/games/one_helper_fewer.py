import random


class OneHelperFewerEnv:
    """Find what would be done with one helper less."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        fruit = rng.choice(["apples", "pears", "plums", "figs"])
        helpers, each = rng.randint(4, 9), rng.randint(5, 15)
        self.answer = str((helpers - 1) * each)
        return f"{helpers} helpers picked {each} {fruit} each. How many {fruit} would one helper fewer have picked?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
