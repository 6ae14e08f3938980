import random


class DrivingForHoursEnv:
    """Find how far a car gets."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        car = rng.choice(["car", "bus", "truck", "train"])
        speed, hours = rng.randint(31, 79), rng.randint(2, 6)
        self.answer = str(speed * hours)
        return f"A {car} drives {speed} km each hour. How many km does it drive in {hours} hours?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
