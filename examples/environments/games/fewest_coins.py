import random


class FewestCoinsEnv:
    """Pay an amount with the fewest coins."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        big, small = rng.choice([(20, 5), (12, 4), (15, 3), (30, 6)])
        amount = rng.randint(25, 140)
        rest = amount % big
        self.answer = str(amount // big + rest // small + rest % small)
        return f"Coins are worth {big}, {small} and 1. What is the fewest coins that make exactly {amount}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
