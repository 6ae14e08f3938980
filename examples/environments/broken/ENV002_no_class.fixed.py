import random


class SumEnv:
    def reset(self, seed=None):
        self.n = random.Random(seed).randint(1000, 9999)
        return f"Say {self.n} backwards.", {}

    def step(self, action):
        won = action == "\\boxed{" + str(self.n)[::-1] + "}"
        return "Done.", float(won), True, False, {}

    def solution(self):
        return str(self.n)[::-1]
