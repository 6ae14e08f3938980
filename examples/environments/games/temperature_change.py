import random


class TemperatureChangeEnv:
    """Find how much water warmed up."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        what = rng.choice(["A fire", "The sun", "A stove"])
        cold, warm = rng.randint(5, 20), rng.randint(25, 60)
        self.answer = str(warm - cold)
        return f"{what} warms water from {cold} to {warm} degrees. How many degrees warmer is it?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
