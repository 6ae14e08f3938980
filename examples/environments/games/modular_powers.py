import random


class ModularPowersEnv:
    """Find the remainder of a large power."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        base = rng.randint(2, 9)
        power = rng.randint(6, 20)
        mod = rng.choice([11, 13, 17, 19, 23, 29])
        self.answer = str(pow(base, power, mod))
        return f"What remainder does {base} to the power {power} leave when divided by {mod}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
