import random


class OneHelperFewerEnv:
    """Take one helper away."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        fruit = rng.choice(["apples", "plums", "figs"])
        helpers, each = rng.randint(4, 9), rng.randint(5, 15)
        self.answer = str((helpers - 1) * each)
        return f"{helpers} helpers pick {each} {fruit} each. How many would one helper fewer pick?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
