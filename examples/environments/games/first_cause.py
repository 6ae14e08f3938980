import random


class FirstCauseEnv:
    """Find the start of a chain of events."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        chain = rng.sample("cat dog goat hen pig owl fox duck".split(), 4)
        links = [f"The {a} woke the {b}." for a, b in zip(chain, chain[1:])]
        rng.shuffle(links)
        self.answer = chain[0]
        return f"{' '.join(links)} Which animal started it all?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
