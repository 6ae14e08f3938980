import random


class InitialsEnv:
    """Take the first letters of two words."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = "apple bread cloud drum eagle fish green honey ink jam king lemon".split()
        first, second = rng.sample(words, 2)
        self.answer = first[0] + second[0]
        return f"What are the initials of {first} {second}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
