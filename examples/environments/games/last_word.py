import random


class LastWordEnv:
    """Name the last word of one of two lines."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = "river stone lamp tiger cloud bread music window garden pencil horse table".split()
        line, other = rng.sample(words, rng.randint(3, 5)), rng.sample(words, 3)
        self.answer = line[-1]
        return f"Ana reads: {' '.join(line)}. Ben reads: {' '.join(other)}. Which word does Ana read last?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
