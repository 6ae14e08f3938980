import random


class DoublingANumberEnv:
    """Find twice a number."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        who = rng.choice(["Ana", "Ben", "Cleo", "Dan"])
        number = rng.randint(11, 60)
        self.answer = str(number * 2)
        return f"{who} has {number} shells and finds as many again. How many shells are that?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
