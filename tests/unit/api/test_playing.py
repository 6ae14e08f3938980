"""Playing, checking and ranking from Python, with agents of every kind, in scripts and in notebooks."""

from __future__ import annotations

import asyncio
import gc
import math
import re

import pytest

import spadework
from spadework.background import current_background
from spadework.testing.scripted import ScriptedPolicy

GAME = """
import random


class GuessEnv:
    max_turns = 2

    def reset(self, seed=None):
        self.number = random.Random(seed).randint(0, 10**6)
        return f"Say {self.number}.", {}

    def step(self, action):
        if "crash" in action:
            raise RuntimeError("crashed")
        won = action == f"\\\\boxed{{{self.number}}}"
        return "over", float(won), won, False, {}
"""
BOXED = "\\boxed{%s}"


def repeat(messages):
    """Say the number that the game tells."""
    return BOXED % re.findall(r"\d+", messages[1]["content"])[0]


async def repeat_later(messages):
    await asyncio.sleep(0.001)
    return repeat(messages)


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "guess.py").write_text(GAME)
    (tmp_path / "guess.toml").write_text('hint = "Say it."\nskill = "Echo"\n')
    (environment,) = spadework.load_pool(tmp_path / "guess.py")
    return environment


@pytest.mark.parametrize("agent", [repeat, repeat_later, ScriptedPolicy(lambda messages, *_: repeat(messages))])
def test_every_kind_of_agent_plays(environment, agent):
    episodes = spadework.play(environment, agent, n=3)
    assert [(episode.arm, episode.return_) for episode in episodes] == [("unhinted", 1.0)] * 3
    assert len({episode.seed for episode in episodes}) == 3


def test_the_model_of_a_config_plays_too(environment):
    episodes = spadework.play(environment, "scripted", n=2)
    assert [episode.valid for episode in episodes] == [True, True]
    assert all(episode.segments for episode in episodes)


def test_both_arms_share_their_seeds_and_only_one_shows_the_hint(environment):
    episodes = spadework.play([environment], repeat, n=2, arm="both")
    arms = {arm: [one for one in episodes if one.arm == arm] for arm in ("unhinted", "hinted")}
    assert [one.seed for one in arms["hinted"]] == [one.seed for one in arms["unhinted"]]
    assert all("HINT: Say it." in one.turns[0].observation for one in arms["hinted"])
    assert not any("HINT" in one.turns[0].observation for one in arms["unhinted"])


@pytest.mark.parametrize("form", ["environment", "path", "text", "list"])
def test_an_environment_is_taken_in_every_form(environment, tmp_path, form):
    given = {"environment": environment, "path": str(tmp_path / "guess.py"), "text": GAME, "list": [environment] * 2}
    assert [episode.win for episode in spadework.play(given[form], repeat, n=1)] == [True]


def test_a_fault_of_the_program_is_part_of_its_episode(environment):
    (episode,) = spadework.play(environment, lambda messages: BOXED % "crash", n=1)
    assert (episode.fault.kind, episode.valid) == ("program", False)
    assert math.isnan(episode.return_)


def test_what_the_agent_raises_reaches_the_caller_and_the_next_call_works(environment):
    def broken(messages):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        spadework.play(environment, broken, n=3)
    with pytest.raises(spadework.ConfigError, match="returned int, not str"):
        spadework.play(environment, lambda messages: 3, n=3)
    assert spadework.play(environment, repeat, n=1)[0].win


def test_tools_reach_the_agent_that_asks_for_them():
    seen = []

    def agent(messages, tools):
        seen.extend(tool["function"]["name"] for tool in tools)
        return "<answer>done</answer>"

    spadework.play("top_up_a_shelf", agent, n=1)
    assert set(seen) == {"count", "order"}


def test_an_observer_counts_the_episodes(environment):
    class Counter(spadework.NullObserver):
        begun, ended = None, 0

        def stage(self, cycle, name, total, done=0):
            self.begun = (cycle, name, total)

        def advance(self, tokens, score=None, fault=None):
            self.ended += 1

    counter = Counter()
    spadework.play(environment, repeat, n=2, arm="both", observer=counter)
    assert (counter.begun, counter.ended) == ((None, "play", 4), 4)


async def test_in_a_notebook_both_ways_work(environment):
    """The test itself runs on an event loop, as the cells of a notebook do."""
    assert spadework.play(environment, repeat, n=1)[0].win
    with spadework.open_episode(environment, seed=1) as episode:
        episode.advance(repeat(episode.messages))
    assert episode.return_ == 1.0
    loops = []

    async def agent(messages):
        loops.append(asyncio.get_running_loop())
        return repeat(messages)

    assert (await spadework.play_async(environment, agent, n=1))[0].win
    assert loops == [asyncio.get_running_loop()]


def test_plain_agents_may_call_the_api_themselves(environment):
    def agent(messages):
        with spadework.open_session(environment) as session:
            session.reset(0)
        return repeat(messages)

    assert spadework.play(environment, agent, n=1)[0].win


def test_an_async_agent_that_would_block_the_loop_is_told_so(environment):
    async def agent(messages):
        return str(spadework.check(GAME))

    with pytest.raises(spadework.SpadeworkError, match="play_async for play"):
        spadework.play(environment, agent, n=1)


def test_one_episode_by_hand(environment):
    with spadework.open_episode(environment, seed=4, hint=True) as episode:
        assert episode.messages[0]["role"] == "system"
        assert episode.messages[-1]["content"].endswith("HINT: Say it.")
        assert (episode.done, episode.max_turns, episode.tools) == (False, 2, ())
        assert episode.advance("what?") == ({"role": "user", "content": "over"},)
        assert episode.advance(repeat(episode.messages)) == ()
    assert (episode.ending, episode.return_, len(episode.turns)) == ("terminated", 1.0, 2)
    assert episode.last_observation == "over"
    with pytest.raises(ValueError, match="has ended"):
        episode.advance("again")


def test_one_seed_is_one_task(environment):
    tasks = []
    for seed in (4, 4, 5):
        with spadework.open_episode(environment, seed) as episode:
            tasks.append(episode.messages[-1]["content"])
    assert tasks[0] == tasks[1] != tasks[2]


def test_a_fault_ends_an_episode_by_hand(environment):
    with spadework.open_episode(environment, 0) as episode, pytest.raises(spadework.ProgramError, match="crashed"):
        episode.advance(BOXED % "crash")
    assert (episode.done, episode.fault.kind) == (True, "program")
    with pytest.raises(spadework.ProgramError):
        spadework.open_episode(GAME.replace("self.number =", "self.number = missing +"), 0)


def test_a_forgotten_episode_frees_its_instance(environment):
    config = {"sandbox": {"max_instances": 2}}
    for seed in range(6):
        spadework.open_episode(environment, seed, config=config)
        gc.collect()


def test_a_session_is_the_program_itself(environment):
    with spadework.open_session(environment) as session:
        number = re.findall(r"\d+", session.reset(3).observation)[0]
        assert session.max_turns == 2
        step = session.step(BOXED % number)
        assert (step.reward, step.terminated) == (1.0, True)
        with pytest.raises(spadework.ProgramError, match="ENV204"):
            session.call("solution")
    session.close()


def test_a_program_is_checked_as_text_as_file_and_as_environment(environment, tmp_path):
    broken = GAME.replace("won, False, {}", "won")
    codes = [finding.code for finding in spadework.check(broken).findings]
    assert codes
    (tmp_path / "broken.py").write_text(broken)
    assert [finding.code for finding in spadework.check(tmp_path / "broken.py").findings] == codes
    report = spadework.check(environment, seeds=2)
    assert (report.domain, report.statistics is not None) == ("games", True)
    assert spadework.check(environment, static=True).statistics is None


def test_rank_puts_first_what_the_hint_helps_with(environment):
    import dataclasses

    useless = dataclasses.replace(environment, id="useless")

    def agent(messages):
        return repeat(messages) if "HINT: Say it." in messages[1]["content"] else "no idea"

    other = dataclasses.replace(useless, hint="Think.")
    ranked = spadework.rank([other, environment], agent, n=2)
    assert [(one.id, one.regret) for one in ranked] == [(environment.id, 1.0), ("useless", 0.0)]


def test_wrong_arguments_are_told_in_one_line(environment, tmp_path):
    bare = spadework.load_pool("higher_or_lower")[0]
    cases = [
        (lambda: spadework.play("nosuch.py", repeat), "nosuch.py"),
        (lambda: spadework.play("games/nosuch", repeat), "nosuch"),
        (lambda: spadework.play(environment, repeat, n=0), "nothing to play"),
        (lambda: spadework.play(environment, "nosuch"), "no shipped config of that name"),
        (lambda: spadework.open_episode("games", 0), "one is wanted"),
        (lambda: spadework.open_episode(GAME, 0, hint=True), "has no hint"),
        (lambda: spadework.rank(GAME, repeat), "no hint"),
        (lambda: spadework.check("games"), "one at a time"),
    ]
    assert bare.hint
    for call, told in cases:
        with pytest.raises(spadework.ConfigError, match=re.escape(told)):
            call()


async def test_many_async_calls_at_once_share_nothing(environment):
    played = await asyncio.gather(*(spadework.play_async(environment, repeat_later, n=1) for _ in range(2)))
    assert [episodes[0].win for episodes in played] == [True, True]
    assert current_background() is None
