import random


class TallerAndShorterEnv:
    """Order four people by height."""

    max_turns = 1

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = rng.sample("Ana Ben Cleo Dan Eva Finn Gus Hana".split(), 4)
        clues = [f"{a} is taller than {b}." for a, b in zip(names, names[1:])]
        rng.shuffle(clues)
        word, self.answer = rng.choice([("tallest", names[0]), ("shortest", names[3])])
        return f"{' '.join(clues)} Who is the {word}?", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip()
        if guess.lower() == self.answer.lower():
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return self.answer
