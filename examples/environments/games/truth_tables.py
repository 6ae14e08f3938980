import itertools
import random


class TruthTablesEnv:
    """Count the cases where a statement is true."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        ops = {"and": min, "or": max, "xor": lambda p, q: p ^ q}
        first, second = rng.choice(list(ops)), rng.choice(list(ops))
        x, y, z = [rng.choice(["", "not "]) for _ in range(3)]
        cases = itertools.product([0, 1], repeat=3)
        self.answer = str(sum(ops[first](a, ops[second](b, c)) for a, b, c in cases))
        return f"In how many of the 8 cases is this true: {x}A {first} ({y}B {second} {z}C)?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
