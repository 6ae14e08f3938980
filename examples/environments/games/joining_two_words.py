import random


class JoiningTwoWordsEnv:
    """Join two words into one."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        first = rng.choice("sun rain snow water wind moon".split())
        second = rng.choice("flower fall light drop mill bird".split())
        self.answer = first + second
        return f"Which word do you get if you join {first} and {second}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().lower()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
