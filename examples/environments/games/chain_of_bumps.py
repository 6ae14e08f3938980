import random


class ChainOfBumpsEnv:
    """Find what moved the last thing."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        things = "ball cart cup box drum tin jar book chair wheel log bag".split()
        a, b, c = rng.sample(things, 3)
        self.answer = b
        return f"The {a} bumped into the {b}. The {b} bumped into the {c}. What moved the {c} directly?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
