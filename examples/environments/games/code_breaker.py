import itertools
import random


class CodeBreakerEnv:
    """Break a code from counts of right places."""

    max_turns = 6

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.letters = sorted(rng.sample("BDFGKMPR", 4))
        self.left = ["".join(p) for p in itertools.product(self.letters, repeat=3)]
        self.code = rng.choice(self.left)
        rule = "It has three letters; letters may repeat. You have 6 guesses."
        return f"Break a code made from {' '.join(self.letters)}. {rule}", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().upper()
        self.turn += 1
        if guess == self.code:
            return "Correct.", 1.0, True, False, {}
        hits = self.match(guess, self.code)
        self.left = [c for c in self.left if c != guess and self.match(guess, c) == hits]
        return f"Letters in the right place: {hits}.", 0.0, False, self.turn == self.max_turns, {}

    def solution(self):
        return self.left[len(self.left) // 2]

    def match(self, a, b):
        return sum(x == y for x, y in zip(a, b))
