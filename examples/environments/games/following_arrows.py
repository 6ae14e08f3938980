import random


class FollowingArrowsEnv:
    """Read arrows one at a time."""

    max_turns = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.arrows = [rng.choice("<>^v") for _ in range(3)]
        return f"Arrows: {' '.join(self.arrows)} Which way does arrow 1 point: left, right, up or down?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess != self.solution():
            return "Wrong.", self.turn / 3, True, False, {}
        self.turn += 1
        if self.turn == self.max_turns:
            return "Correct.", 1.0, True, False, {}
        return f"Right. Which way does arrow {self.turn + 1} point?", 0.0, False, False, {}

    def solution(self):
        return {"<": "left", ">": "right", "^": "up", "v": "down"}[self.arrows[self.turn]]
