import random


class SquaringANumberEnv:
    """Multiply a number by itself."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        plant = rng.choice(["beans", "tulips", "onions", "herbs"])
        side = rng.randint(4, 20)
        self.answer = str(side * side)
        return f"A bed has {side} rows with {side} {plant} in each row. How many {plant} are in the bed?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
