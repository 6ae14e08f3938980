import random


class AddingFractionsEnv:
    """Add two fractions."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        b, d = rng.sample(range(2, 10), 2)
        a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
        self.top, self.bottom = a * d + c * b, b * d
        return f"Add the fractions {a}/{b} and {c}/{d}. Answer as a fraction a/b.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        top, _, bottom = guess.partition("/")
        if (top + bottom).isdecimal() and top and bottom.strip("0") and len(guess) < 12:
            if int(top) * self.bottom == self.top * int(bottom):
                return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return f"{self.top}/{self.bottom}"
