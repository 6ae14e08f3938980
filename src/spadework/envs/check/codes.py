"""The catalogue of the checker: every code with its severity, its title, why it matters, and a bad and a good example.

``spadework check --explain CODE`` prints an entry; docs/environments.md lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Code:
    """One entry of the catalogue."""

    severity: Severity
    title: str
    why: str
    bad: str = ""
    good: str = ""


_INTERFACE = {
    "ENV001": Code(
        "error",
        "the program does not parse",
        "Nothing else can be checked. A frequent cause is a brace that was not doubled in an f-string.",
        'text = f"set {1, 2} holds {"',
        'text = f"set {{1, 2}} holds {n}"',
    ),
    "ENV002": Code(
        "error",
        "no environment class",
        "The environment is the first class at module level whose name ends in Env and that is not a provided base.",
        "class Puzzle: ...",
        "class PuzzleEnv: ...",
    ),
    "ENV003": Code(
        "error",
        "the program does not load",
        "Running the module or building the environment raised. It is built with max_turns or with nothing.",
        "def __init__(self): self.words = WORDS  # WORDS is defined nowhere",
        'WORDS = ("apple", "pear")',
    ),
    "ENV004": Code(
        "error",
        "reset or step has the wrong parameters",
        "They are called as reset(seed=...) and step(action), with one string.",
        "def reset(self): ...",
        "def reset(self, seed=None): ...",
    ),
    "ENV005": Code(
        "error",
        "the constructor asks for more than max_turns",
        "It is called with max_turns or with nothing.",
        "def __init__(self, size): ...",
        "def __init__(self, max_turns=10, size=5): ...",
    ),
    "ENV006": Code(
        "error",
        "a stray Markdown fence",
        "The source is Python alone; a fence makes it a syntax error.",
        "```python\nclass PuzzleEnv: ...\n```",
        "class PuzzleEnv: ...",
    ),
    "ENV007": Code(
        "warning",
        "several environment classes",
        "Only the first is played; the others are dead text or, worse, the one that was meant.",
        "class AEnv: ...\nclass BEnv: ...",
        "class BEnv: ...",
    ),
    "ENV008": Code(
        "error",
        "step returns neither four nor five values",
        "step gives (observation, reward, terminated, truncated, info); an older form without truncated is understood.",
        "return text, 1.0",
        "return text, 1.0, True, False, {}",
    ),
    "ENV009": Code(
        "error",
        "reset or step is missing",
        "An environment is played through reset(seed) and step(action).",
        "class PuzzleEnv:\n    def start(self): ...",
        "class PuzzleEnv:\n    def reset(self, seed=None): ...\n    def step(self, action): ...",
    ),
}

_STATIC = {
    "ENV101": Code(
        "error",
        "a forbidden import",
        "Only the published list of modules is loaded in the sandbox, where no file can be opened.",
        "import os",
        "import random",
    ),
    "ENV102": Code(
        "error",
        "input() is called",
        "Nobody sits at the keyboard; the player speaks through step(action).",
        'guess = input("? ")',
        "def step(self, action): guess = action",
    ),
    "ENV103": Code(
        "error",
        "files or the process are touched",
        "A program is pure: no files, no shell, no exit.",
        'words = open("words.txt").read()',
        'words = ["apple", "pear"]',
    ),
    "ENV104": Code(
        "warning",
        "print() is called",
        "Nobody reads it: what the player should see belongs in the observation.",
        "print(board)",
        "return board, 0.0, False, False, {}",
    ),
    "ENV105": Code(
        "error",
        "the network is used",
        "The sandbox has none, and a task must not change under the player.",
        "import urllib.request",
        "facts = {...}",
    ),
    "ENV106": Code(
        "error",
        "text of the player is evaluated",
        "eval and its like hand the player the answer, the reward and the interpreter.",
        "value = eval(action)",
        "value = int(action)",
    ),
    "ENV107": Code(
        "warning",
        "eval, exec or compile is called",
        "Harmless on the program's own text, but compute the value directly: it is faster and can be read.",
        'value = eval(f"{a}{op}{b}")',
        "value = OPS[op](a, b)",
    ),
    "ENV108": Code(
        "error",
        "the interpreter's inside is reached for",
        "Frames, globals and class trees are how programs break out of their role.",
        "().__class__.__base__.__subclasses__()",
        "isinstance(value, int)",
    ),
    "ENV109": Code(
        "error",
        "step never looks at the action",
        "What the player says cannot matter.",
        "def step(self, action): return 'ok', 1.0, True, False, {}",
        "def step(self, action): right = action == self.answer; ...",
    ),
    "ENV110": Code(
        "error",
        "a loop that never ends",
        "while True needs a break, a return or a raise of its own.",
        "while True:\n    n += 1",
        "while n < limit:\n    n += 1",
    ),
    "ENV111": Code(
        "error",
        "a module's private parts are reached for",
        "Names with an underscore and modules inside modules lead around the list of imports.",
        "random._os.getpid()",
        "random.Random(seed).random()",
    ),
    "ENV120": Code(
        "error",
        "a declared tool has no method",
        "A call of NAME is dispatched to tool_NAME.",
        '_tools = [{"name": "pay", ...}]  # and no tool_pay',
        "def tool_pay(self, amount): ...",
    ),
    "ENV121": Code(
        "error",
        "a tool's schema and method disagree",
        "The player sees the schema alone: a parameter by another name can never be given.",
        '"properties": {"order_id": ...}  # def tool_get(self, id)',
        '"properties": {"order_id": ...}  # def tool_get(self, order_id)',
    ),
    "ENV122": Code(
        "warning",
        "a tool method is declared in no schema",
        "The player cannot know of it.",
        "def tool_refund(self, order_id): ...  # not in _tools",
        '_tools = [..., {"name": "refund", ...}]',
    ),
    "ENV123": Code(
        "error",
        "a tool schema is malformed",
        "It must be an OpenAI function schema with a name and object parameters whose required names are declared.",
        '{"function": {"parameters": {"required": ["x"], "properties": {}}}}',
        '{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {...}}}}',
    ),
    "ENV124": Code(
        "error",
        "tool use without tools",
        "A tool-use environment declares its tools in _tools or get_tools.",
        "self._tools = []",
        "self._tools = [{...}]",
    ),
}

_RUNTIME = {
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
    "ENV211": Code(
        "error",
        "an empty observation",
        "The player sees nothing to act on.",
        'return "", {}',
        'return "Find x: 2x = 8.", {}',
    ),
}

_SEEDS = {
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

_SOLVABILITY = {
    "ENV401": Code(
        "error",
        "the oracle loses",
        "The program's own solution(), played to the end, must win on every seed.",
        "def solution(self): return '4'  # while step wants '5'",
        "def solution(self): return str(self.answer)",
    ),
    "ENV402": Code("error", "doing nothing wins", "An empty answer must never be paid a win."),
    "ENV403": Code(
        "error",
        "random play wins too often",
        "A win by chance teaches nothing.",
        "won = action in ('yes', 'no')",
        "won = action == self.answer",
    ),
    "ENV404": Code(
        "error",
        "one and the same answer wins",
        "The answer does not change with the seed.",
        "self.answer = 'yes'",
        "self.answer = 'yes' if is_prime(self.n) else 'no'",
    ),
    "ENV405": Code(
        "error",
        "no win within the turn budget",
        "The oracle needs more turns than the episode has.",
        "max_turns = 3  # for five moves",
        "max_turns = 10",
    ),
    "ENV406": Code("info", "no solution()", "Without an oracle nothing shows that the task can be won."),
    "ENV407": Code(
        "error",
        "solution() fails",
        "It raised, or gave something other than text.",
        "def solution(self): return None",
        "def solution(self): return str(self.answer)",
    ),
    "ENV408": Code(
        "warning",
        "trivial on some seeds",
        "A player who knows nothing wins some tasks outright, which looks like a learnable mean.",
    ),
    "ENV410": Code(
        "error",
        "a criterion raises",
        "On the reset state of every seed it raised: a key or a type is wrong.",
        'lambda s: s["order"]["O1"]  # the state has "orders"',
        'lambda s: s["orders"]["O1"]["status"] == "cancelled"',
    ),
    "ENV411": Code(
        "warning",
        "a criterion is met before anything is done",
        "Its instruction asks for nothing.",
        'lambda s: s["cart"] == []  # at reset',
        'lambda s: "milk" in s["cart"]',
    ),
    "ENV412": Code("error", "most criteria are met before anything is done", "Doing nothing is most of the work."),
    "ENV413": Code(
        "error",
        "a criterion can never be met",
        "It stayed false after the whole oracle run, or compares types that never equal each other.",
        'lambda s: s["count"] == "5"  # the state holds 5',
        'lambda s: s["count"] == 5',
    ),
    "ENV414": Code(
        "warning",
        "a tool can never succeed",
        "Every call of it fails, on values taken from the state and from the oracle.",
        "def tool_pay(self, id):\n    return {'error': 'not implemented'}",
        "def tool_pay(self, id): ...",
    ),
    "ENV415": Code(
        "error",
        "a needed value stands nowhere",
        "The oracle uses an argument that no instruction, schema or tool result shows: the player could only guess it.",
    ),
    "ENV416": Code(
        "error",
        "a call that must fail goes through",
        "A call without its required arguments, or by an unknown name, succeeded or changed the state.",
        "def tool_cancel(self, order_id=None): self._state['orders'].clear()",
        "if order_id not in orders: return {'error': 'no such order'}",
    ),
    "ENV417": Code(
        "error",
        "instructions and criteria do not match",
        "Each instruction needs one criterion; without any, an answer alone would win.",
        "self._user_messages = ['a', 'b']; self._message_criteria = []",
        "one criterion for each message",
    ),
}

_LEAKS = {
    "ENV501": Code(
        "error",
        "the first observation gives the answer away",
        "Copying it wins.",
        'f"Find x. (answer: {self.x})"',
        'f"Find x: {a}x = {a * self.x}"',
    ),
    "ENV502": Code(
        "error",
        "feedback reveals the answer before the end",
        "A player who errs once can copy it.",
        'f"Wrong, it is {self.x}. Try again."',
        '"Wrong, too low. Try again."',
    ),
    "ENV503": Code(
        "error",
        "the hint contains the solution",
        "Regret would then measure copying, not help.",
        "Answer 42.",
        "Split the sum into pairs that make 100.",
    ),
    "ENV504": Code(
        "error",
        "the hint contains a hidden value",
        "A tool-use hint is a plan: ids, paths and amounts must be looked up.",
        "Cancel order #W2417.",
        "Look up the customer's latest order, then cancel it.",
    ),
    "ENV505": Code(
        "info",
        "the first observation prints a formula",
        "The governing rule is given where it might have been found out.",
        '"The area is A = w * h. w=3, h=4."',
        '"A field is 3 by 4."',
    ),
    "ENV506": Code("warning", "a hint of over 100 words", "Hints are short: the key insight and the answer's format."),
}

_GRADING = {
    "ENV601": Code(
        "info",
        "an equivalent answer is rejected",
        "Spaces, case, a trailing period or 0.5 for 1/2 mean the same.",
        "action == '\\\\boxed{4}'",
        "number(action) == 4",
    ),
    "ENV602": Code(
        "error",
        "a wrong answer is accepted",
        "A near miss of the right answer wins.",
        "str(self.answer).startswith(action)",
        "action == str(self.answer)",
    ),
    "ENV603": Code(
        "error",
        "naming many answers wins",
        "The grader looks for the answer anywhere in the text.",
        "if str(self.answer) in action: ...",
        "if action.strip() == str(self.answer): ...",
    ),
}

_DIFFICULTY = {
    "ENV701": Code(
        "error",
        "a level cannot be played or won",
        "Every level from 0 up must build, reset and be won by solution().",
        "self.size = 5 - difficulty  # empty from level 5 on",
        "self.size = 5 + difficulty",
    ),
    "ENV702": Code(
        "error",
        "levels do not matter",
        "The lowest and the highest level give the same tasks.",
        "def __init__(self, difficulty=0): self.difficulty = difficulty  # and nobody reads it",
        "def reset(self, seed=None): digits = 2 + self.difficulty",
    ),
    "ENV703": Code(
        "error",
        "a higher level is easier",
        "A player who knows little wins more of it: levels must ascend.",
        "limit = 50 - 10 * difficulty",
        "limit = 10 + 10 * difficulty",
    ),
    "ENV704": Code(
        "warning",
        "nothing shows that a higher level is harder",
        "No more turns, text or answers, and no player wins less. See it with a model: spadework play --levels.",
        "self.offset = difficulty",
        "self.steps = 3 + difficulty",
    ),
}

CODES: dict[str, Code] = {
    **_INTERFACE,
    **_STATIC,
    **_RUNTIME,
    **_SEEDS,
    **_SOLVABILITY,
    **_LEAKS,
    **_GRADING,
    **_DIFFICULTY,
}
"""Code -> entry. ``ENV201`` to ``ENV208`` are raised by the sandbox, the others by the checks."""
