import random


class WritingBackwardEnv:
    """Write a word from its end."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        words = "lamp frog milk tree hand moon snow bird cake desk fish gold".split()
        who, word = rng.choice(["Ana", "Ben", "Dan"]), rng.choice(words)
        self.answer = word[::-1]
        return f"How does {who} write {word} backward?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
