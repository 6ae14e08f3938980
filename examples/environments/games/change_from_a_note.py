import random


class ChangeFromANoteEnv:
    """Find the money that comes back."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        note = rng.choice([50, 100])
        price = rng.randint(11, 49)
        self.answer = str(note - price)
        return f"Eva pays with a note of {note} coins for a book that costs {price} coins. How many come back?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
