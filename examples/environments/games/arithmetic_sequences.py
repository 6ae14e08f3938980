import random


class ArithmeticSequencesEnv:
    """Continue a sequence with equal steps."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        start = rng.randint(30, 60)
        step = rng.choice([-6, -5, -4, -3, 2, 3, 4, 5, 6, 7, 8, 9])
        terms = [start + step * i for i in range(5)]
        self.answer = str(terms[4])
        return f"Which number comes next: {terms[0]}, {terms[1]}, {terms[2]}, {terms[3]}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
