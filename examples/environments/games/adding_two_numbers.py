import random


class AddingTwoNumbersEnv:
    """Add two whole numbers."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        fruit = rng.choice(["apples", "pears", "plums", "figs"])
        a, b = rng.randint(5, 60), rng.randint(5, 60)
        self.answer = str(a + b)
        return f"Ana has {a} {fruit} and Ben has {b}. How many {fruit} have they together?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
