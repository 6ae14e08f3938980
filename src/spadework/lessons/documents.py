"""The scale model's corpus: short documents, each about things that move in the manner of some of the families."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from spadework.lessons.families import Manner
from spadework.types import Document

NOUNS = """
beads boats bells birds books carts clouds coins crates drums fish flags gears goats jars keys lamps leaves masks nets
pens pots rails reeds ropes seeds ships stars stones tiles trees wheels
""".split()
_SAID: dict[Manner, tuple[str, ...]] = {
    "turn": ("{} that turn round and round", "how {} go round", "a turn of the {}"),
    "trade": ("{} that trade places", "how {} change over", "a swap of {}"),
    "carry": ("{} that are carried on", "how {} are brought along", "a load of {}"),
}
_TITLES: dict[Manner, str] = {"turn": "Turning {}", "trade": "Trading {}", "carry": "Carrying {}"}
MANNERS: tuple[Manner, ...] = get_args(Manner)


def documents() -> Iterator[Document]:
    """All documents, in a fixed order; ``meta`` has title, noun and manner."""
    for noun in NOUNS:
        for manner in MANNERS:
            for number, said in enumerate(_SAID[manner]):
                title = _TITLES[manner].format(noun)
                meta = {"title": title, "noun": noun, "manner": manner, "licence": "CC0-1.0", "source": "spadework"}
                yield Document(f"scale/{manner}-{noun}-{number}", said.format(noun), meta)


def write_corpus(path: Path) -> None:
    """Write all documents as the JSONL corpus that runs read."""
    rows = (json.dumps({"id": each.id, **each.meta, "text": each.text}) for each in documents())
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def draw_document(rng: random.Random) -> Document:
    """Draw one of the documents."""
    return rng.choice(_ALL)


_ALL = tuple(documents())
