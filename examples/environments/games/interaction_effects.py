import random


class InteractionEffectsEnv:
    """Find what two causes add together."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        base, water, dung, extra = rng.randint(20, 60), rng.randint(3, 15), rng.randint(3, 15), rng.randint(2, 30)
        self.answer = str(extra)
        alone = f"A field yields {base} sacks, {base + water} with water alone, {base + dung} with dung alone"
        return f"{alone} and {base + water + dung + extra} with both. How many sacks come from the interaction?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
