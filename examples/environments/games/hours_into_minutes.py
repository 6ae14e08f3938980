import random


class HoursIntoMinutesEnv:
    """Turn hours and minutes into minutes."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        hours = rng.randint(1, 5)
        minutes = rng.randint(5, 55)
        self.answer = str(hours * 60 + minutes)
        return f"A film lasts {hours} h and {minutes} min. How many minutes are that in all?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
