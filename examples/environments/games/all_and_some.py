import random


class AllAndSomeEnv:
    """Apply a rule about a whole group."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        groups = rng.sample("zogs mips taks lurs bons".split(), 3)
        colours = rng.sample("red blue green pink white black grey gold teal lime".split(), 3)
        i = rng.randrange(3)
        self.answer = colours[i]
        rules = " ".join(f"All {g} are {c}." for g, c in zip(groups, colours))
        return f"{rules} Tam is one of the {groups[i]}. What colour is Tam?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
