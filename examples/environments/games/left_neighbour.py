import random


class LeftNeighbourEnv:
    """Name the left neighbour."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        animals = "cat dog goat hen pig owl fox duck cow frog bear".split()
        row, i = rng.sample(animals, 5), rng.randint(2, 4)
        self.answer = row[i - 1]
        return f"From left to right: {', '.join(row)}. What is just left of the {row[i]}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
