import random


class HalvingANumberEnv:
    """Find half of an even number."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        thing = rng.choice(["coins", "nuts", "cards", "beads"])
        number = 2 * rng.randint(8, 49)
        self.answer = str(number // 2)
        return f"Two children share {number} {thing} fairly. How many {thing} does each child get?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
