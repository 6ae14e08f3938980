import random


class EarliestBusEnv:
    """Find the bus that leaves first."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        lines = rng.sample(range(30, 90), 3)
        a, b, c = rng.sample(range(5, 24), 3)
        self.answer = str(lines[[a, b, c].index(min(a, b, c))])
        return f"Buses {lines[0]}, {lines[1]}, {lines[2]} leave at {a}, {b}, {c} hours. Which is earliest?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
