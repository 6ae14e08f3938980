import random


class CoinEnv:
    def reset(self, seed=None):
        rng = random.Random(seed)
        self.ns = [rng.randint(1000, 9999) for _ in range(5)]
        return f"Even or odd, one letter each, as eoeoe: {', '.join(map(str, self.ns))}?", {}

    def step(self, action):
        text = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        return "Done.", float(text == self.solution()), True, False, {}

    def solution(self):
        return "".join("eo"[n % 2] for n in self.ns)
