"""What is found by running a program: entries of the catalogue."""

from __future__ import annotations

from spadework.envs.check.codes.entry import Code

RUNTIME = {
    "ENV201": Code(
        "error",
        "reset, step or solution raised",
        "Whatever the player says is an action: nonsense gets a message, not an exception.",
        "guess = int(action)",
        "try:\n    guess = int(action)\nexcept ValueError:\n    return 'Give a number.', 0.0, False, False, {}",
    ),
    "ENV202": Code(
        "error",
        "a result has the wrong shape or type",
        "Observations are strings, rewards numbers, the two ends booleans, info a dict.",
        "return 42, '1', 1, 0, None",
        "return '42', 1.0, True, False, {}",
    ),
    "ENV203": Code(
        "error",
        "a reward is not finite or out of range",
        "A win pays 1.0 and nothing pays more.",
        "reward = 10",
        "reward = 1.0",
    ),
    "ENV204": Code(
        "error",
        "a method that the program lacks was called",
        "reset, step and the tools must exist and stay methods: an attribute of the same name hides them.",
        "def reset(self, seed=None): self.step = 0  # and step() is gone",
        "def reset(self, seed=None): self.turn = 0",
    ),
    "ENV205": Code("error", "a call hung", "Each call has a budget of CPU seconds and a backstop of wall seconds."),
    "ENV206": Code("error", "out of memory", "An instance may hold some hundred megabytes."),
    "ENV207": Code("error", "an observation is too long", "No player reads a hundred thousand characters."),
    "ENV208": Code(
        "error",
        "the program died",
        "It left the interpreter instead of returning: an exit, or a crash.",
        "for _ in range(150_000): numbers = map(int, numbers)  # as many calls deep",
        "numbers = [int(number) for number in numbers]",
    ),
    "ENV210": Code(
        "warning",
        "the episode does not end at its own turn limit",
        "A player who dawdles must be told that the episode is over (truncated).",
        "return obs, 0.0, False, False, {}  # for ever",
        "return obs, 0.0, False, self.turn >= self.max_turns, {}",
    ),
    "ENV212": Code(
        "warning",
        "an unusual answer makes the program raise",
        "The episode is then a fault of the program. A player may say anything: nan, inf, a very long text.",
        "int(float(text))  # OverflowError on inf",
        "except (ValueError, OverflowError): return 'A whole number, please.', 0.0, False, False, {}",
    ),
    "ENV211": Code(
        "error",
        "an empty observation",
        "The player sees nothing to act on.",
        'return "", {}',
        'return "Find x: 2x = 8.", {}',
    ),
}

SEEDS = {
    "ENV301": Code(
        "warning",
        "reset never looks at its seed",
        "The task then hangs on whatever the sandbox seeds globally.",
        "def reset(self, seed=None): self.n = random.randint(1, 9)",
        "def reset(self, seed=None): self.n = random.Random(seed).randint(1, 9)",
    ),
    "ENV302": Code(
        "error",
        "seeds do not matter",
        "Every seed gives the same first observation: one task, learned by heart.",
        "self.n = 7",
        "self.n = random.Random(seed).randint(1, 99)",
    ),
    "ENV303": Code(
        "warning",
        "randomness that the seed does not rule",
        "Both arms must see the same episode, anywhere.",
        "self.n = random.randint(1, 9)",
        "self.rng = random.Random(seed)\nself.n = self.rng.randint(1, 9)",
    ),
    "ENV304": Code(
        "warning",
        "state shared between instances",
        "A global or a mutable class attribute outlives the episode that wrote it.",
        "class GameEnv:\n    history = []",
        "def reset(self, seed=None): self.history = []",
    ),
    "ENV305": Code(
        "error",
        "reset does not reset",
        "After some play, the same seed and actions give another transcript than in a fresh instance.",
        "def __init__(self): self.turn = 0  # and reset leaves it",
        "def reset(self, seed=None): self.turn = 0",
    ),
    "ENV306": Code(
        "error",
        "not deterministic",
        "The same seed and actions give different transcripts in two fresh processes.",
        "order = sorted(items, key=id)",
        "order = sorted(items)",
    ),
}
