import random


class CoinEnv:
    def reset(self, seed=None):
        rng = random.Random(seed)
        self.n = rng.randint(1000, 9999)
        return f"Is {self.n} even or odd?", {}

    def step(self, action):
        text = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        return "Done.", float(text == self.solution()), True, False, {}

    def solution(self):
        return "odd" if self.n % 2 else "even"
