import random


class OppositeWordsEnv:
    """Name the opposite of a word."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = "hot cold big small day night wet dry up down rich poor".split()
        i = rng.randrange(12)
        self.answer = words[i ^ 1]
        return f"What is the opposite of {words[i]}? Choose: {', '.join(rng.sample(words, 12))}.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
