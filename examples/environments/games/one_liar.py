import random


class OneLiarEnv:
    """Find the only liar among four speakers."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = rng.sample("Ana Ben Cleo Dan Eva Finn Gus Hana".split(), 4)
        self.answer = names[0]
        words = ["lies", "is honest", "is honest", "lies"]
        lines = [f"{names[i - 1]} says: {names[i]} {words[i - 1]}." for i in range(4)]
        rng.shuffle(lines)
        return f"{' '.join(lines)} Exactly one of them lies. Who?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess.lower() == self.answer.lower():
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
