import random


class MostTicketsForTheMoneyEnv:
    """Find the largest number of tickets."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        money = rng.randint(40, 99)
        price = rng.randint(3, 9)
        self.answer = str(money // price)
        return f"A ticket costs {price} coins. What is the largest number of tickets that {money} coins can buy?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
