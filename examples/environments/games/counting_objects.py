import random


class CountingObjectsEnv:
    """Count one kind of object in a row."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a, b = rng.sample("cup key ball fork ring shoe".split(), 2)
        count = rng.randint(1, 9)
        row = [a] * count + [b] * rng.randint(1, 5)
        rng.shuffle(row)
        self.answer = str(count)
        return f"Row: {' '.join(row)}. How many times does {a} appear?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
