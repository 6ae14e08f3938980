import random


class ControlledComparisonEnv:
    """Find the one factor that differs."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = rng.sample("water light soil heat food wind".split(), 4)
        self.answer = rng.choice(names)
        one, two = "Plant 1:", "Plant 2:"
        for name in names:
            levels = rng.sample(["low", "high"], 2)
            one += f" {levels[0]} {name},"
            two += f" {levels[name == self.answer]} {name},"
        return f"{one} it died. {two} it bloomed. What made the difference?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
