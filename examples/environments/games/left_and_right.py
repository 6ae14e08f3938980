import random


class LeftAndRightEnv:
    """Name a neighbour in a row."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        row = rng.sample("cup lamp book ball clock shoe plate key".split(), 4)
        i = rng.randint(1, 2)
        side, self.answer = rng.choice([("left", row[i - 1]), ("right", row[i + 1])])
        return f"From left to right: {', '.join(row)}. What is just to the {side} of the {row[i]}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
