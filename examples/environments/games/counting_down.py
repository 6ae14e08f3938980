import random


class CountingDownEnv:
    """Count down one number at a time."""

    max_turns = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.number = rng.randint(21, 90)
        return f"Count down from {self.number}, one number each turn. Say the next number.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess != str(self.number - 1):
            return "Wrong.", self.turn / 3, True, False, {}
        self.turn += 1
        self.number -= 1
        if self.turn == self.max_turns:
            return "Correct.", 1.0, True, False, {}
        return "Right. Say the next number.", 0.0, False, False, {}

    def solution(self):
        return str(self.number - 1)
