import random


class HillClimbingEnv:
    """Find the top of a hidden hill."""

    max_turns = 4

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.low = rng.randint(1, 50)
        self.high = self.low + 40
        self.peak = rng.randint(self.low, self.high)
        self.top, self.slope = rng.randint(300, 400), rng.randint(2, 5)
        road = f"positions {self.low} to {self.high}; the ground falls {self.slope} metres a step away from the top"
        return f"Find the top of a hill: {road}. Reply with a position to measure it. You have 4 tries.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        self.turn += 1
        last = self.turn == self.max_turns
        if guess == str(self.peak):
            return "You stand on the top.", 1.0, True, False, {}
        if not guess.isdecimal() or len(guess) > 3:
            return "Reply with a position.", 0.0, False, last, {}
        height = self.top - self.slope * abs(int(guess) - self.peak)
        return f"The height there is {height} metres.", 0.0, False, last, {}

    def solution(self):
        return str([self.low, self.high, self.peak, self.peak][self.turn])
