import random


class CauseAndEffectEnv:
    """Find the button behind an effect."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        colours = rng.sample("red blue green pink white black".split(), 3)
        effects = rng.sample(["lights the lamp", "rings the bell", "opens the gate", "starts the fan"], 3)
        i = rng.randrange(3)
        self.answer = colours[i]
        rules = " ".join(f"The {c} button {e}." for c, e in zip(colours, effects))
        return f"{rules} One button was pressed, and it {effects[i]}. Which one?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
