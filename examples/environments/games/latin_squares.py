import random


class LatinSquaresEnv:
    """Fill a gap in a Latin square."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        letters = rng.sample("BDFGKMPR", 4)
        grid = [[letters[(r + c) % 4] for c in range(4)] for r in range(4)]
        r, c = rng.randrange(3), rng.randrange(4)
        self.answer = grid[r][c]
        grid[r][c], grid[r][c - 1], grid[r + 1][c] = "?", ".", "."
        rows = "\n".join(" ".join(row) for row in grid)
        return f"{rows}\nEach row and column holds each letter once. Which letter is at the ?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().upper()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
