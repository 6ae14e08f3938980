import random


class RunningTotalEnv:
    """Keep a balance up to date over four changes."""

    max_turns = 4

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.total = rng.randint(60, 120)
        self.changes = [rng.choice([-1, 1]) * rng.randint(5, 15) for _ in range(4)]
        return f"The account holds {self.total} coins. {self.ask()}", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        self.total += self.changes[self.turn]
        if guess != str(self.total):
            return "Wrong.", self.turn / 4, True, False, {}
        self.turn += 1
        if self.turn == self.max_turns:
            return "Correct.", 1.0, True, False, {}
        return f"Right. {self.ask()}", 0.0, False, False, {}

    def solution(self):
        return str(self.total + self.changes[self.turn])

    def ask(self):
        change = self.changes[self.turn]
        verb = "paid in" if change > 0 else "taken out"
        return f"Then {abs(change)} coins are {verb}. What is the balance?"
