import random


class AreaOfACarpetEnv:
    """Find the area of a carpet."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        room = rng.choice(["hall", "kitchen", "bedroom", "office"])
        length, width = rng.randint(6, 15), rng.randint(3, 9)
        self.answer = str(length * width)
        return f"A {room} carpet is {length} m by {width} m. How many square metres is it?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
