import random


class BitsThatDifferEnv:
    """Mark the places where two bit rows differ."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a = rng.randint(0, 15)
        b = rng.randint(0, 15)
        self.answer = f"{a ^ b:04b}"
        return f"Compare {a:04b} with {b:04b} bit by bit. Write 1 where they differ and 0 where not.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
