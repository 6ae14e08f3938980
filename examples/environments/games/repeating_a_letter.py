import random


class RepeatingALetterEnv:
    """Write a letter several times."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        letter = rng.choice("abcdefghkmnorstuwxyz")
        count = rng.randint(3, 7)
        self.answer = letter * count
        return f"Write the letter {letter} exactly {count} times, without spaces.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
