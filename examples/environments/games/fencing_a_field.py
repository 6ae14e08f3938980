import random


class FencingAFieldEnv:
    """Enclose the largest rectangle."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        half = rng.randint(9, 41)
        self.answer = str((half // 2) * (half - half // 2))
        task = "What is the largest area of a rectangular field with whole-metre sides?"
        return f"A farmer has {2 * half} metres of fence. {task} Answer in square metres.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
