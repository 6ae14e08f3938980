"""What environments are called in tables: programs by their files, others by their ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from spadework.types import Environment

_LEVEL = re.compile(r"-d\d+$")
"""Ends the id of an environment that is played at a level."""


def shown_names(environments: Sequence[Environment]) -> dict[str, str]:
    """The name of each environment by id. Files of one name in several folders keep their ids beside it."""
    names = {environment.id: _name(environment) for environment in environments}
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else f"{name} ({key})" for key, name in names.items()}


def _name(environment: Environment) -> str:
    if environment.design_id is not None or not environment.document_id.endswith(".py"):
        return environment.id
    level = _LEVEL.search(environment.id)
    return environment.document_id + (level[0] if level else "")
