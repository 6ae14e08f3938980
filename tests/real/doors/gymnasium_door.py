"""Gymnasium's own checker and vector environment on a program, and a transcript of given replies."""

from __future__ import annotations

import json
import sys

import gymnasium
from gymnasium.utils.env_checker import check_env

from spadework.interop import gymnasium as door

program, seed, replies = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
door.register("spadework/Program-v0", program)
check_env(gymnasium.make("spadework/Program-v0", render_mode="ansi").unwrapped)

environment = gymnasium.make("spadework/Program-v0")
said = [environment.reset(seed=seed)[0]]
for reply in replies:
    observation, reward, terminated, _, _ = environment.step(reply)
    said.append(observation)

vector = gymnasium.make_vec("spadework/Program-v0", num_envs=2, vectorization_mode="sync")
observations, _ = vector.reset(seed=[seed, seed + 1])
assert observations[0] == said[0] != observations[1]
assert vector.step((replies[0],) * 2)[0][0] == said[1]
vector.close()
print(json.dumps({"observations": said, "reward": float(reward), "terminated": bool(terminated)}))
