import random


class PlaceInARowEnv:
    """Name the thing at a place."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        things = "cup lamp book ball clock shoe plate key coin hat".split()
        row, place = rng.sample(things, 5), rng.randint(2, 4)
        self.answer = row[place - 1]
        return f"From left to right: {', '.join(row)}. What is at place {place}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
