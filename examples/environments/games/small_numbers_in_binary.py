import random


class SmallNumbersInBinaryEnv:
    """Write a small number in binary."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        thing = rng.choice(["lamp", "badge", "key", "locker"])
        number = rng.randint(8, 31)
        self.answer = f"{number:b}"
        return f"A {thing} has the number {number}. How is this number written in binary?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
