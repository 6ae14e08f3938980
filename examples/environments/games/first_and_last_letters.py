import random


class FirstAndLastLettersEnv:
    """Name the first or last letter of a word."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        word = rng.choice("apple bread cloud drum fish green honey jacket king lemon music night open rabbit".split())
        side, self.answer = rng.choice([("first", word[0]), ("last", word[-1])])
        return f"What is the {side} letter of the word {word}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
