import random


class TemperatureChangeEnv:
    """Find how much a heater warmed the water."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        what = rng.choice(["A heater", "The sun", "A fire", "An oven"])
        cold, warm = rng.randint(5, 20), rng.randint(25, 60)
        self.answer = str(warm - cold)
        return f"{what} warmed water from {cold} to {warm} degrees. By how many degrees did it get warmer?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
