import random
import string


class TestingSwitchesEnv:
    """Find the switch that works the lamp."""

    max_turns = 4

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.names = sorted(rng.sample(string.ascii_uppercase, 8))
        self.left = list(self.names)
        self.works = rng.choice(self.names)
        rule = "Send two or more letters to flip them together, or one letter as your only answer."
        return f"One of these switches works a lamp: {' '.join(self.names)}. {rule} You have 4 turns.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().upper()
        self.turn += 1
        group = set(guess) & set(self.names)
        if len(group) == 1:
            won = self.works in group
            return "Correct." if won else "Wrong.", float(won), True, False, {}
        lit = self.works in group
        self.left = [name for name in self.left if (name in group) == lit]
        return f"The lamp is {'on' if lit else 'off'}.", 0.0, False, self.turn == self.max_turns, {}

    def solution(self):
        half = self.left[: (len(self.left) + 1) // 2]
        if len(self.left) == 2:
            half = [half[0], next(name for name in self.names if name not in self.left)]
        return "".join(half)
