import random


class RollingDiceEnv:
    """Track two faces of a rolling die."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        top, north, east = [rng.choice(pair) for pair in rng.sample([(1, 6), (2, 5), (3, 4)], 3)]
        text = f"A die shows {top} on top, {north} to the north and {east} to the east. It rolls"
        for _ in range(3):
            if rng.random() < 0.5:
                text, top, north = text + " north", 7 - north, top
            else:
                text, top, east = text + " east", 7 - east, top
        self.answer = f"{top} {north}"
        return f"{text}. Which numbers are on top and to the north?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess.replace(",", " ").split() == self.answer.split():
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
