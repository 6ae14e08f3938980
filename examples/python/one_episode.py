"""Play one episode by hand, reply by reply, without asyncio."""

from __future__ import annotations

import spadework


def main() -> None:
    """Ask a game's own solution() for the next answer, in a second session that gets the same actions."""
    seed = 7
    with (
        spadework.open_episode("higher_or_lower", seed) as episode,
        spadework.open_session("higher_or_lower") as twin,
    ):
        twin.reset(seed)
        for message in episode.messages:
            print(f"{message['role']}: {message['content']}")
        while not episode.done:
            action = f"\\boxed{{{twin.call('solution')}}}"
            print(f"assistant: {action}")
            episode.advance(action)
            twin.step(action)
            print(f"user: {episode.last_observation}")
    print(f"{episode.ending} after {len(episode.turns)} turns: return {episode.return_}")


if __name__ == "__main__":
    main()
