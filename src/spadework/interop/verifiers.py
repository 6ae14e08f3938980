"""A pool of environments for verifiers (extra ``verifiers``, its v1 API): taskset, environment and harness.

A task is one program with one seed, and the program speaks as the user. ``spadework export POOL --to verifiers`` writes
a package around these classes, which ``vf-eval``, ``vf-validate`` and trainers of verifiers' traces load by name.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import httpx
import verifiers.v1 as vf

from spadework.api.inputs import load_pool
from spadework.interop.episodes import Episodes, gold_actions, instructions
from spadework.types import WIN, Environment

INFO = "spadework"
"""The key of a trace's ``info`` under which an episode's end is recorded."""


class ProgramData(vf.TaskData):
    """One program and one seed, as a task carries them."""

    source: str
    domain: str
    environment: str
    """Id of the environment."""
    seed: int
    hint: str = ""
    """What is shown below the opening; empty in the unhinted arm."""

    def open(self) -> Episodes:
        """The program, ready to be played."""
        environment = Environment(
            id=self.environment,
            source=self.source,
            hint=self.hint,
            skill="",
            domain=self.domain,
            document_id="",
            cycle=0,
            designer_version=0,
        )
        return Episodes(environment, hint=bool(self.hint))


class ProgramTask(vf.Task[ProgramData]):
    """Pays the episode's return. An episode that a fault ended is an error of its rollout, never a reward."""

    @vf.reward(weight=1.0)
    async def episode_return(self, trace: vf.Trace) -> float:
        """The return of the episode, in [-1, 1]; 0 where nobody played."""
        return float(trace.info.get(INFO, {}).get("return", 0.0))

    @vf.metric
    async def turns(self, trace: vf.Trace) -> float:
        """Replies that were played."""
        return float(trace.info.get(INFO, {}).get("turns", 0))

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether the program's own solution wins; ``None`` for a program without one."""
        return await asyncio.to_thread(_gold_wins, self.data)


class PoolConfig(vf.TasksetConfig):
    """What of a pool becomes tasks."""

    pool: str = ""
    """Path of a pool; that of the package where it is empty."""
    environments: tuple[str, ...] = ()
    """Ids of the environments to play; all of them where it is empty."""
    seeds: int = 4
    """Tasks of each environment: seeds 0, 1, …"""
    hinted: bool = False
    """Whether the hints are shown; environments without one are then left out."""


class PoolTaskset(vf.Taskset[ProgramTask, PoolConfig]):
    """Every environment of a pool with every seed."""

    POOL: ClassVar[Path | str] = "games"
    """The pool where the config names none."""

    def load(self) -> Iterator[ProgramTask]:
        """The tasks, by environment and seed. Raises ``ConfigError`` for a pool that cannot be read."""
        for environment in load_pool(self.config.pool or self.POOL):
            if self.config.environments and environment.id not in self.config.environments:
                continue
            if self.config.hinted and not environment.hint:
                continue
            for seed in range(self.config.seeds):
                yield ProgramTask(self._data(environment, seed), self.config.task)

    def _data(self, environment: Environment, seed: int) -> ProgramData:
        return ProgramData(
            name=f"{environment.id}-{seed}",
            prompt=None,  # the program opens the conversation
            system_prompt=instructions(environment.domain) or None,
            source=environment.source,
            domain=environment.domain,
            environment=environment.id,
            seed=seed,
            hint=environment.hint if self.config.hinted else "",
        )


class PoolEnvConfig(vf.EnvConfig):
    """One seat, which plays on this machine: verifiers' default would be a hosted sandbox."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class PoolEnv(vf.Env[PoolEnvConfig]):
    """Plays the program against the agent, turn by turn."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play one episode; raises ``ProgramError`` or ``SandboxError``, which fail the rollout."""
        await play(task, agents.agent)


class OneCallHarness(vf.Harness[vf.HarnessConfig]):
    """One call of the model a turn, in this process; verifiers' own ``null`` harness starts an interpreter each."""

    APPENDS_SYSTEM_PROMPT = SUPPORTS_RESUME = True
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(  # noqa: PLR0913, PLR0917 - the signature that verifiers calls
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any
    ) -> vf.ProgramResult:
        """Ask the model once, through the endpoint that records the trace."""
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages.extend(message.model_dump(mode="json", exclude_none=True) for message in prompt or [])
        async with httpx.AsyncClient(timeout=None) as client:
            answer = await client.post(
                f"{endpoint.rstrip('/')}/chat/completions",
                json={"model": ctx.model, "messages": messages},
                headers={"Authorization": f"Bearer {secret}"},
            )
        failed = answer.status_code != httpx.codes.OK
        return vf.ProgramResult(exit_code=int(failed), stdout="", stderr=answer.text if failed else "")


async def play(task: Any, agent: Any) -> float:
    """Play one episode of the task's program with one agent, record its end in the trace, and return what it paid.

    A model that stops before the program does ends the episode by its token limit, which pays 0.
    """
    episodes = task.data.open()
    try:
        said = await asyncio.to_thread(episodes.reset, task.data.seed)
        async with agent.interaction(task) as chat:
            while True:
                segment = await chat.turn(said)
                if segment.terminated:
                    break
                played = await asyncio.to_thread(episodes.step, segment.last_reply)
                if played.done:
                    break
                said = played.observation
            paid = 0.0 if math.isnan(episodes.return_) else episodes.return_
            chat.trace.info[INFO] = {
                "return": paid,
                "turns": len(episodes.turns),
                "ending": episodes.ending or "token_limit",
                "seed": task.data.seed,
                "environment": task.data.environment,
                "arm": "hinted" if task.data.hint else "unhinted",
            }
        return paid
    finally:
        await asyncio.to_thread(episodes.close)


def _gold_wins(data: ProgramData) -> bool | None:
    """Whether the program pays its own solution in full."""
    with data.open() as episodes:
        episodes.reset(data.seed)
        played = None
        for action in gold_actions(episodes.environment, data.seed):
            played = episodes.step(action)
            if played.done:
                break
    if played is None:
        return None
    return played.terminated and played.reward >= WIN
