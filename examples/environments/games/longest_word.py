import random


class LongestWordEnv:
    """Find the word with the most letters."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        short = rng.sample("cat sun box key map ant".split(), 2)
        long = "elephant mountain umbrella calendar butterfly kitchen"
        long += " library hospital sandwich dolphin computer notebook"
        self.answer = rng.choice(long.split())
        words = short + ["river", self.answer]
        rng.shuffle(words)
        return f"Which word has the most letters: {', '.join(words)}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
