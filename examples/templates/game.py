import random


class NewEnv:
    """Add two numbers, twice. Replace this by one sentence that says what is played."""

    max_turns = 4

    def reset(self, seed=None):
        # Draw everything from a generator of the seed: the same seed must give the same task.
        self.rng = random.Random(seed)
        self.left = 2
        return f"Add two numbers, twice. What is {self.draw()}?", {}

    def step(self, action):
        # The action is the player's last \boxed{...}, with its box.
        answer = action.removeprefix("\\boxed{").removesuffix("}").strip().removesuffix(".").removesuffix(".0")
        if answer != str(self.total):
            return f"No, that was {self.total}.", 0.0, True, False, {}
        self.left -= 1
        if self.left == 0:
            return "Right, and done.", 1.0, True, False, {}
        return f"Right. What is {self.draw()}?", 0.0, False, False, {}

    def solution(self):
        # What an oracle plays next. It shows the checker that the game can be won.
        return str(self.total)

    def draw(self):
        first, second = self.rng.randint(10, 99), self.rng.randint(10, 99)
        self.total = first + second
        return f"{first} + {second}"
