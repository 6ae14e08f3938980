import random


class HigherOrLowerEnv:
    """Find a hidden number with higher and lower."""

    max_turns = 5

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.low = rng.randint(20, 90)
        self.high = self.low + 30
        self.secret = rng.randint(self.low, self.high)
        return f"I think of a number from {self.low} to {self.high}. You have 5 guesses.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        self.turn += 1
        last = self.turn == self.max_turns
        if guess == str(self.secret):
            return "Correct.", 1.0, True, False, {}
        if not guess.isdecimal() or len(guess) > 4:
            return "Reply with a whole number.", 0.0, False, last, {}
        if int(guess) < self.secret:
            self.low = max(self.low, int(guess) + 1)
            return "Higher.", 0.0, False, last, {}
        self.high = min(self.high, int(guess) - 1)
        return "Lower.", 0.0, False, last, {}

    def solution(self):
        return str((self.low + self.high) // 2)
