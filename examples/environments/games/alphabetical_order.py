import random


class AlphabeticalOrderEnv:
    """Find the first word in the alphabet."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = "anchor bread cloud desk engine forest garden honey island jacket kettle lemon".split()
        words = rng.sample(names, 3)
        self.answer = min(words)
        return f"Which of these words comes first in the alphabet: {', '.join(words)}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
