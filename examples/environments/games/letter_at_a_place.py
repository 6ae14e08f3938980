import random


class LetterAtAPlaceEnv:
    """Name the letter at a place."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = "garden picture window orange school planet doctor".split()
        word, place = rng.choice(words), rng.randint(2, 6)
        self.answer = word[place - 1]
        return f"Which letter stands at place {place} in the word {word}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
