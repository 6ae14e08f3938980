"""Serve a model folder over the Tinker API by SkyRL's JAX backend: ``python tinker_serve.py MODEL PORT FOLDER``.

Runs in a virtual environment of its own. SkyRL starts its engine by ``uv run``; here it is started by this Python.
"""

from __future__ import annotations

import sys
import typing
from pathlib import Path

import typing_extensions
import uvicorn

typing.TypedDict = typing_extensions.TypedDict  # pydantic wants this one below Python 3.12, SkyRL takes the other
from skyrl.tinker import api, engine  # noqa: E402
from skyrl.tinker.config import EngineConfig, config_to_argv  # noqa: E402


def main(model: str, port: str, folder: str) -> None:
    api._build_uv_run_cmd_engine = lambda parent, config: [sys.executable, __file__, "engine", *config_to_argv(config)]
    api.app.state.engine_config = EngineConfig(
        base_model=model,
        backend="jax",
        backend_config={"max_lora_adapters": 64, "max_lora_rank": 8, "sample_max_num_sequences": 16},
        checkpoints_base=Path(folder) / "checkpoints",
        database_url=f"sqlite:///{folder}/tinker.db",
    )
    uvicorn.run(api.app, host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    if sys.argv[1] == "engine":
        del sys.argv[1]
        engine.main()
    else:
        main(*sys.argv[1:])
