import random


class CountingInDozensEnv:
    """Turn dozens into pieces."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        thing = rng.choice(["eggs", "rolls", "pens", "candles"])
        dozens = rng.randint(2, 20)
        self.answer = str(dozens * 12)
        return f"A box holds {dozens} dozen {thing}. How many {thing} are in the box?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
