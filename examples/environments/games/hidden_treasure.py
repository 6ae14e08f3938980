import random


class HiddenTreasureEnv:
    """Find a treasure from compass directions."""

    max_turns = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        x, y = rng.randint(1, 9), rng.randint(1, 9)
        self.cells = {f"{x + i},{y + j}": (x + i, y + j) for i in range(7) for j in range(7)}
        self.left = list(self.cells)
        self.gold = rng.choice(self.left)
        field = f"columns {x} to {x + 6}, rows {y} to {y + 6}, rows counted northward"
        return f"A treasure lies in this field: {field}. You have 3 digs. Reply as column,row.", {}

    def step(self, action):
        guess = action.removeprefix("\\boxed{").removesuffix("}").strip().replace(" ", "")
        self.turn += 1
        if guess == self.gold:
            return "Correct.", 1.0, True, False, {}
        last = self.turn == self.max_turns
        if guess not in self.cells:
            return "Reply as column,row.", 0.0, False, last, {}
        way = self.way(guess, self.gold)
        self.left = [cell for cell in self.left if self.way(guess, cell) == way]
        return f"The treasure is to the {way}.", 0.0, False, last, {}

    def solution(self):
        return self.left[len(self.left) // 2]

    def way(self, hole, cell):
        (a, b), (x, y) = self.cells[hole], self.cells[cell]
        tall = "north" if y > b else "south" if y < b else ""
        wide = "east" if x > a else "west" if x < a else ""
        return f"{tall} {wide}".strip()
