import random


class AlternatingSequencesEnv:
    """Continue two woven sequences."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a, b = rng.randint(1, 20), rng.randint(40, 80)
        p, q = rng.randint(2, 9), rng.randint(2, 9)
        row = []
        for i in range(4):
            row += [a + p * i, b - q * i]
        size = rng.randint(6, 7)
        self.answer = str(row[size])
        return f"Which number comes next: {', '.join(map(str, row[:size]))}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
