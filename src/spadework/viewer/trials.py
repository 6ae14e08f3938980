"""What the page runs in the sandbox: a game that a person plays, a program's checks, and an episode played again."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from spadework import build
from spadework.config import RunConfig
from spadework.envs.check.program import check_program
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.domain import Domain
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Limits, Sandbox, Session, Step
from spadework.envs.watch import read_state, watch, watched_source
from spadework.episode import first_observation
from spadework.errors import FaultError
from spadework.viewer.token_text import TokenTexts, token_texts

MOST_GAMES = 8
"""Games at once; the one idle for longest makes room."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What the page needs beyond the run's files."""

    sandbox: Sandbox
    limits: Callable[[RunConfig], Limits]
    token_texts: Callable[[RunConfig], TokenTexts | None]
    """``None`` where the tokenizer of the run's model is not on this machine."""


def build_tools(config: RunConfig) -> Tools:
    """What the page runs programs and reads tokens with; the sandbox starts when it is first used."""
    known: dict[str, TokenTexts | None] = {}
    loading = threading.Lock()

    def texts_of(config: RunConfig) -> TokenTexts | None:
        """One thread loads a tokenizer while others wait: two threads that import transformers at once both fail."""
        name = config.model.name
        with loading:
            if name not in known:
                known[name] = token_texts(name)
            return known[name]

    return Tools(build.build_sandbox(config), build.build_limits, texts_of)


@dataclass(slots=True)
class _Game:
    session: Session
    domain: Domain
    state: Any = None
    """After the last step, as the domain shows it."""
    turns: int = 0
    used: float = field(default_factory=time.monotonic)


class Trials:
    """Games in progress, by a key of their own."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._games: dict[str, _Game] = {}

    async def start(self, config: RunConfig, program: Mapping[str, Any], seed: int, hinted: bool) -> dict[str, Any]:
        """Open a game and show its first observation; ``fault`` instead when the program falls over."""
        await self._make_room()
        domain = find_domain(program["domain"])
        try:
            source = watched_source(program["source"], domain)
            session = await self._tools.sandbox.open(source, self._tools.limits(config))
        except FaultError as error:
            return {"fault": asdict(error.fault)}
        game, key = _Game(session, domain), secrets.token_urlsafe(8)
        self._games[key] = game
        try:
            step = await session.reset(seed)
            game.state = await read_state(session)
        except FaultError as error:
            await self.stop(key)
            return {"fault": asdict(error.fault)}
        shown = replace(step, observation=first_observation(step.observation, program["hint"] if hinted else ""))
        return {"game": key, "max_turns": session.max_turns, "tools": list(session.tools), **_shown(shown, game)}

    async def step(self, key: str, answer: str) -> dict[str, Any]:
        """One turn; the answer is boxed or tagged as an agent's would be, unless it is so already."""
        game = self._games.get(key)
        if game is None:
            return {"fault": {"kind": "sandbox", "code": "gone", "message": "This game is over; start a new one."}}
        game.used = time.monotonic()
        action = game.domain.dialogue.encode(answer)
        try:
            step = await game.session.step(action)
            changes = await self._changes(game)
        except FaultError as error:
            await self.stop(key)
            return {"action": action, "fault": asdict(error.fault)}
        game.turns += 1
        shown = {"action": action, "changes": changes, **_shown(step, game)}
        if shown["ended"]:
            await self.stop(key)
        return shown

    async def stop(self, key: str) -> None:
        """End a game; one that is over already is fine."""
        game = self._games.pop(key, None)
        if game is not None:
            await game.session.close()

    async def close(self) -> None:
        """End every game."""
        for key in list(self._games):
            await self.stop(key)

    async def check(self, config: RunConfig, program: Mapping[str, Any]) -> dict[str, Any]:
        """All findings on a program and how the oracle and the players who must not win fare."""
        limits = self._tools.limits(config)
        settings = RuntimeChecks(limits=limits, seeds=config.validation.seeds)
        try:
            domain = find_domain(program["domain"])
            checked = await check_program(self._tools.sandbox, program["source"], settings, domain, program["hint"])
        except FaultError as error:
            return {"fault": asdict(error.fault)}
        findings = [
            {"code": f.code, "severity": f.severity, "title": f.title, "message": f.message, "line": f.line}
            for f in checked.findings
        ]
        return {"findings": findings, "statistics": asdict(checked.statistics) if checked.statistics else None}

    async def watch(self, config: RunConfig, played: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The state after the reset and after each action of a stored episode, and what each action changed."""
        program = played["program"]
        domain, limits = find_domain(program["domain"]), self._tools.limits(config)
        play = (played["seed"], played["actions"])
        return [asdict(one) for one in await watch(self._tools.sandbox, domain, program["source"], play, limits)]

    async def _changes(self, game: _Game) -> list[dict[str, Any]]:
        """What the last step changed in the state that the domain shows."""
        before, game.state = game.state, await read_state(game.session)
        return [asdict(change) for change in game.domain.display.difference(before, game.state)]

    async def _make_room(self) -> None:
        while len(self._games) >= MOST_GAMES:
            await self.stop(min(self._games, key=lambda key: self._games[key].used))


def _shown(step: Step, game: _Game) -> dict[str, Any]:
    over = game.turns >= game.session.max_turns
    ended = "terminated" if step.terminated else "truncated" if step.truncated or over else ""
    return {"observation": step.observation, "reward": step.reward, "turn": game.turns, "ended": ended}
