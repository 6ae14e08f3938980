import random


class OppositeDirectionsEnv:
    """Turn right around on the compass."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = "north north-east east south-east south south-west west north-west".split()
        i = rng.randrange(8)
        who = rng.choice("Ana Ben Cleo Dan Eva".split())
        self.answer = names[(i + 4) % 8]
        return f"{who} looks {names[i]} and turns right around. Which way does {who} look now?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess.replace(" ", "").replace("-", "") == self.answer.replace("-", ""):
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
