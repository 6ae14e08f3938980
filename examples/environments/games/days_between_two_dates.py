import random


class DaysBetweenTwoDatesEnv:
    """Count the days between dates."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        month = rng.choice(["March", "May", "June", "July"])
        first, later = rng.randint(1, 8), rng.randint(10, 29)
        self.answer = str(later - first)
        return f"How many days is it from {month} {first} to {month} {later}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
