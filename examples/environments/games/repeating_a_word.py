import random


class RepeatingAWordEnv:
    """Write a word several times."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        word = rng.choice("apple bread cloud drum fish green honey jacket king lemon music night".split())
        count = rng.randint(2, 4)
        self.answer = " ".join([word] * count)
        return f"Write the word {word} {count} times, with a space between.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if " ".join(guess.split()) == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
