import random


class RuleChainEnv:
    """Press buttons in the order given by rules."""

    max_turns = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.chain = rng.sample("ABCDEFGH", 4)
        rules = [f"After {a} press {b}." for a, b in zip(self.chain, self.chain[1:])]
        rng.shuffle(rules)
        return f"{' '.join(rules)} Button {self.chain[0]} is pressed. Which button is next?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().upper()
        if guess != self.chain[self.turn + 1]:
            return "Wrong button.", self.turn / 3, True, False, {}
        self.turn += 1
        if self.turn == self.max_turns:
            return "Correct.", 1.0, True, False, {}
        return "Right. Which button is next?", 0.0, False, False, {}

    def solution(self):
        return self.chain[self.turn + 1]
