import random


class PaintedBlocksEnv:
    """Count small cubes by their painted faces."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        a, b, c = [rng.randint(3, 7) for _ in range(3)]
        x, y, z = a - 2, b - 2, c - 2
        counts = [x * y * z, 2 * (x * y + x * z + y * z), 4 * (x + y + z)]
        faces = rng.randrange(3)
        self.answer = str(counts[faces])
        block = f"A block of {a} by {b} by {c} is painted outside and cut into cubes of side one"
        return f"{block}. How many cubes have exactly {faces} painted faces?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
