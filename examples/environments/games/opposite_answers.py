import random


class OppositeAnswersEnv:
    """Turn around each answer."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        said = [rng.choice(["yes", "no"]) for _ in range(4)]
        self.answer = " ".join("no" if word == "yes" else "yes" for word in said)
        return f"A liar says: {' '.join(said)}. What are the four true answers, in the same order?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
