import random


class GridWalkEnv:
    """Follow a walk on a grid."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        x, y = rng.randint(10, 20), rng.randint(10, 20)
        a, b, c = [rng.randint(1, 6) for _ in range(3)]
        self.answer = f"{x + a - c},{y + b}"
        return f"Start at {x},{y}. Walk {a} east, {b} north and {c} west. Where are you? Answer as x,y.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess.replace(" ", "").strip("()") == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
