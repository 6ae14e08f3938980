import random


class ThirdAngleOfATriangleEnv:
    """Find the third angle of a triangle."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a = rng.randint(30, 80)
        b = rng.randint(30, 80)
        self.answer = str(180 - a - b)
        return f"Two angles of a triangle have {a} and {b} degrees. How many degrees has the third angle?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
