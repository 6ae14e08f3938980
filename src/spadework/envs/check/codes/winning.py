"""Who can win: entries of the catalogue."""

from __future__ import annotations

from spadework.envs.check.codes.entry import Code

SOLVABILITY = {
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
    "ENV409": Code(
        "error",
        "nothing that is shown tells the answer",
        "Two seeds show the same before the last step and are won by different answers: only luck or a hint can win.",
        'return "Guess my number.", {}  # and "Wrong." ends it',
        'return "Higher.", 0.0, False, False, {}',
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
