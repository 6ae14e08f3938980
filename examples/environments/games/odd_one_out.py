import random


class OddOneOutEnv:
    """Find the word of another kind."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        groups = ["apple pear plum grape", "horse goat cow pig", "red blue green pink", "chair table bed desk"]
        many, one = rng.sample(groups, 2)
        self.answer = rng.choice(one.split())
        words = rng.sample(many.split(), 3) + [self.answer]
        rng.shuffle(words)
        return f"Which word does not belong: {', '.join(words)}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
