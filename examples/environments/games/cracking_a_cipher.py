import random
import string


class CrackingACipherEnv:
    """Decode a word with a shift found from an example."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        known, word = rng.sample("bread cloud drum fish green honey jacket king lemon music night".split(), 2)
        shift = rng.randint(2, 24)
        abc = string.ascii_lowercase
        table = str.maketrans(abc, abc[shift:] + abc[:shift])
        self.answer = word
        return f"The word {known} is written {known.translate(table)}. What does {word.translate(table)} mean?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
