import random


class RuleMachineEnv:
    """Find a secret rule by trials."""

    max_turns = 4

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.times, self.plus = rng.randint(2, 9), rng.randint(2, 20)
        self.low = rng.randint(1, 9)
        self.asked = self.low + rng.randint(8, 12)
        rule = "A machine multiplies by a secret number and then adds a secret number."
        ask = f"Send {self.low} to {self.low + 5} to test it. What comes out for {self.asked}? Send that as =number."
        return f"{rule} {ask}", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        self.turn += 1
        if guess.startswith("="):
            won = guess[1:].strip() == str(self.times * self.asked + self.plus)
            return "Correct." if won else "Wrong.", float(won), True, False, {}
        last = self.turn == self.max_turns
        for n in range(self.low, self.low + 6):
            if guess == str(n):
                return f"{n} gives {self.times * n + self.plus}.", 0.0, False, last, {}
        return "Send a number in range, or = and a number.", 0.0, False, last, {}

    def solution(self):
        if self.turn < 2:
            return str(self.low + self.turn)
        return f"={self.times * self.asked + self.plus}"
