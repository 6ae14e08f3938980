import random


class ProcessOfEliminationEnv:
    """Find the only door not ruled out."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        doors = rng.sample("red blue green pink white black brown gold".split(), 5)
        self.answer = doors[0]
        out = rng.sample(doors[1:], 4)
        rng.shuffle(doors)
        clues = f"It is not behind the {out[0]} or {out[1]} door, nor behind {out[2]} or {out[3]}."
        return f"A prize is behind one door: {', '.join(doors)}. {clues} Which door is it?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
