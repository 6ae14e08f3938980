import random


class LastWordEnv:
    """Name the last word of a line."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = "river stone lamp tiger cloud bread music window garden pencil".split()
        line = rng.sample(words, rng.randint(3, 5))
        self.answer = line[-1]
        return f"Which word comes last in this line? {' '.join(line)}", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
