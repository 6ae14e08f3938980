import random


class ShopChangeEnv:
    """Work out the change in a shop."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        price = rng.randint(3, 9)
        count = rng.randint(2, 6)
        paid = rng.choice([60, 75, 100])
        self.answer = str(paid - price * count)
        return f"A pen costs {price} coins. You buy {count} pens and pay {paid} coins. How many coins come back?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
