import random


class WhatIfEnv:
    """Work out what would have happened."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        start, hours = rng.randint(60, 99), rng.randint(2, 5)
        taps, gain, leak = rng.randint(2, 4), rng.randint(4, 9), rng.randint(1, 6)
        self.answer = str(start + hours * ((taps - 1) * gain - leak))
        story = f"A tank held {start} litres. For {hours} hours {taps} taps each added {gain} litres an hour"
        return f"{story}, and a leak took {leak} litres an hour. What would it hold with one tap fewer?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
