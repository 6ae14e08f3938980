import random


class BestBuyEnv:
    """Find the shop with the lowest price for one egg."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        shops = rng.sample("Oak Elm Fir Ash Yew Bay".split(), 3)
        units = rng.sample(range(2, 9), 3)
        self.answer = shops[units.index(min(units))].lower()
        sizes = [rng.randint(4, 12) for _ in range(3)]
        text = "; ".join(f"{s} sells {n} eggs for {n * u} coins" for s, n, u in zip(shops, sizes, units))
        return f"{text}. Which shop has the cheapest eggs?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
