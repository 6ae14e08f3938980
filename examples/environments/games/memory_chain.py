import random


class MemoryChainEnv:
    """Repeat a growing list of words."""

    max_turns = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.words = rng.sample("cat sun box map pen hat cup bus".split(), 4)
        return f"The chain starts: {self.words[0]} {self.words[1]}. Repeat the whole chain.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess.replace(",", " ").split() != self.words[: self.turn + 2]:
            return "Wrong.", self.turn / 3, True, False, {}
        self.turn += 1
        if self.turn == self.max_turns:
            return "Correct.", 1.0, True, False, {}
        return f"Right. Add {self.words[self.turn + 1]}. Repeat the whole chain.", 0.0, False, False, {}

    def solution(self):
        return " ".join(self.words[: self.turn + 2])
