import random


class TurtleStepsEnv:
    """Walk a turtle to a flag."""

    max_turns = 6

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.x, self.y = rng.randint(4, 9), rng.randint(4, 9)
        gaps = [-3, -2, -1, 1, 2, 3]
        self.flag = self.x + rng.choice(gaps), self.y + rng.choice(gaps)
        goal = f"The flag is at {self.flag[0]},{self.flag[1]}."
        return f"You are at {self.x},{self.y}. {goal} Step up, down, left or right, one word each turn.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        self.turn += 1
        self.x += (guess == "right") - (guess == "left")
        self.y += (guess == "up") - (guess == "down")
        if (self.x, self.y) == self.flag:
            return "You reach the flag.", 1.0, True, False, {}
        return f"You are at {self.x},{self.y}.", 0.0, False, self.turn == self.max_turns, {}

    def solution(self):
        wide, tall = self.flag[0] - self.x, self.flag[1] - self.y
        if abs(wide) >= abs(tall):
            return "right" if wide > 0 else "left"
        return "up" if tall > 0 else "down"
