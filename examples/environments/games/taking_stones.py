import random


class TakingStonesEnv:
    """Win a game of taking stones."""

    max_turns = 6

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.rng = rng
        self.stones = rng.choice([n for n in range(9, 24) if n % 4])
        rule = "We take 1, 2 or 3 stones in turn; whoever takes the last stone wins."
        return f"There are {self.stones} stones. {rule} How many do you take?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        self.turn += 1
        if guess not in ("1", "2", "3") or int(guess) > self.stones:
            return "Not allowed.", 0.0, True, False, {}
        self.stones -= int(guess)
        if self.stones == 0:
            return "You take the last stone.", 1.0, True, False, {}
        mine = self.stones % 4 or self.rng.randint(1, 3)
        self.stones -= mine
        if self.stones == 0:
            return "I take the last stone.", 0.0, True, False, {}
        return f"I take {mine}. {self.stones} stones are left.", 0.0, False, self.turn == self.max_turns, {}

    def solution(self):
        return str(self.stones % 4 or 1)
