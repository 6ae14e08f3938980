import random


class VoltageAndCurrentEnv:
    """Find the current in a wire."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        current = rng.randint(2, 20)
        resistance = rng.randint(2, 9)
        self.answer = str(current)
        return f"{current * resistance} volts act on a wire of {resistance} ohms. How many amperes flow?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
