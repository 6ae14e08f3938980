import random


class LampSwitchesEnv:
    """Find the lamps that are on."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        wires = {name: set(rng.sample("12345", 3)) for name in "ABC"}
        lit = set()
        presses = rng.choices("ABC", k=5)
        for name in presses:
            lit ^= wires[name]
        self.answer = " ".join(sorted(lit)) or "none"
        rules = " ".join(f"{name} flips {' '.join(sorted(w))}." for name, w in wires.items())
        return f"Lamps 1 to 5 are off. {rules} Pressed: {' '.join(presses)}. Which lamps are on?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess.replace(",", " ").split() == self.answer.split():
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
