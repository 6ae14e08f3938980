import random


class SignalChainEnv:
    """Find the last running part of a chain."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        parts = rng.sample("motor belt wheel pump fan gear drill saw".split(), 5)
        i = rng.randint(1, 4)
        self.answer = parts[i - 1]
        chain = " to the ".join(parts)
        return f"Power goes from the {chain}. The {parts[i]} is broken. Which is the last part that still runs?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
