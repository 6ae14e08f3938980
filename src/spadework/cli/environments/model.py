"""Which model plays, ranks or designs: the arguments that name it, and the config that they give."""

from __future__ import annotations

import argparse
import json

from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.errors import ConfigError

LAPTOP, ANY_MODEL = "laptop", "any-model"
"""Shipped configs: of the default model, with its warm-up and its few-shots, and of any other model, without."""


def add_model(parser: argparse.ArgumentParser) -> None:
    """Arguments that say which model is asked."""
    parser.add_argument("--endpoint", action="append", default=[], metavar="URL", help="any OpenAI-compatible endpoint")
    parser.add_argument("--model", metavar="NAME", help="a model by name or folder; with --endpoint, its name there")
    parser.add_argument(
        "--config",
        metavar="NAME",
        help=f"a TOML file or shipped config (default: {LAPTOP}, or {ANY_MODEL} where another model is named)",
    )
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")


def model_config(args: argparse.Namespace, *more: str) -> RunConfig:
    """The config of what ``add_model`` was given, with ``more`` overrides last. Raises ``ConfigError``."""
    if args.endpoint and args.model is None:
        raise ConfigError("--endpoint needs --model: the model's name there")
    named = []
    if args.model is not None:
        named.append(f"model.name={json.dumps(f'openai:{args.model}' if args.endpoint else args.model)}")
    if args.endpoint:
        named.append(f"endpoint.urls={json.dumps(args.endpoint)}")
    other = args.model is not None or any(text.partition("=")[0].strip() == "model.name" for text in args.set)
    return load_config(args.config or (ANY_MODEL if other else LAPTOP), [*named, *args.set, *more])
