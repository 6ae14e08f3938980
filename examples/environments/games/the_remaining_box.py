import random


class TheRemainingBoxEnv:
    """Find the only box that is left."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        boxes = rng.sample("red blue green pink white black brown grey gold purple".split(), 3)
        a, b, c = boxes
        self.answer = b
        return f"A key is in the {a}, {b} or {c} box. It is not in the {c} or {a} one. Which box is it in?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
