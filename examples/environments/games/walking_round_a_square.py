import random


class WalkingRoundASquareEnv:
    """Find the way around a square."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        place = rng.choice(["park", "field", "yard", "pond"])
        side = rng.randint(6, 60)
        self.answer = str(side * 4)
        return f"A square {place} has sides of {side} metres. How many metres is the way once around it?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
