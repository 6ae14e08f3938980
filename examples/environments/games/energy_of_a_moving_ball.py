import random


class EnergyOfAMovingBallEnv:
    """Find the energy of a moving ball."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        mass = 2 * rng.randint(1, 6)
        speed = rng.randint(2, 9)
        self.answer = str(mass * speed * speed // 2)
        return f"A ball of {mass} kg rolls at {speed} metres a second. How many joules is its energy?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
