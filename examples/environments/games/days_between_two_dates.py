import random


class DaysBetweenTwoDatesEnv:
    """Count the days from one date to another."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        month = rng.choice(["March", "May", "June", "July"])
        first, later = rng.randint(1, 8), rng.randint(10, 29)
        self.answer = str(later - first)
        return f"A trip starts on {month} {first} and ends on {month} {later}. How many days later is the end?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
