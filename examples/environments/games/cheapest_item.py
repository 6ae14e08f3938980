import random


class CheapestItemEnv:
    """Find the item with the lowest price."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        items = rng.sample("cup plate bowl spoon lamp clock brush towel".split(), 3)
        prices = rng.sample(range(5, 60), 3)
        self.answer = items[prices.index(min(prices))]
        shop = ", ".join(f"{item} {price} coins" for item, price in zip(items, prices))
        return f"Prices: {shop}. Which item is the cheapest?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
