import random


class MirrorRowsEnv:
    """Mirror a grid of letters."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        rows = ["".join(rng.sample("ABCDEFGH", 4)) for _ in range(3)]
        i = rng.randrange(3)
        self.answer = rows[i][::-1]
        grid = "\n".join(rows)
        return f"Swap left and right in this grid:\n{grid}\nWhat does row {i + 1} read now?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess.replace(" ", "").upper() == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
