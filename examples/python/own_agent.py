"""Play a bundled game with agents of your own: a plain function, and an async one whose episodes run at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import spadework


def bisect(messages: Sequence[spadework.Message]) -> str:
    """Guess the middle of the numbers that the answers so far have left over."""
    low, high = (int(number) for number in re.findall(r"\d+", messages[1]["content"])[:2])
    for guess, answer in zip(messages[2::2], messages[3::2]):
        number = int(re.findall(r"\d+", guess["content"])[-1])
        if answer["content"] == "Higher.":
            low = number + 1
        else:
            high = number - 1
    return f"The middle of {low} and {high} is \\boxed{{{(low + high) // 2}}}"


async def slow_bisect(messages: Sequence[spadework.Message]) -> str:
    """The same, with a wait such as a request to a server takes."""
    await asyncio.sleep(0.05)
    return bisect(messages)


def win_rate(episodes: Sequence[spadework.Episode]) -> float:
    """The share of the episodes that no fault ended which were won."""
    played = [episode for episode in episodes if episode.valid]
    return sum(episode.win for episode in played) / len(played)


def main() -> None:
    """Play sixteen episodes with each."""
    print("bisection wins", win_rate(spadework.play("higher_or_lower", bisect, n=16)))
    print("and when it waits", win_rate(spadework.play("higher_or_lower", slow_bisect, n=16)))
    print("always 50 wins", win_rate(spadework.play("higher_or_lower", lambda messages: "\\boxed{50}", n=16)))


if __name__ == "__main__":
    main()
