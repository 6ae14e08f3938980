"""Word games: families that a small pretrained model is warmed up on, read from a TOML file (``word_games.toml``).

Each game is taught twice: without its hint it is answered at once, with its hint the work stands before the answer. So
the hint carries information, and what self-play has to learn is to write the work unasked. A warm-up that puts hints
before the *same* replies teaches a model to ignore them (faults.md, 45).
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spadework.errors import ConfigError
from spadework.lessons.designs import TaughtDesign
from spadework.lessons.plays import Exchange, TaughtPlay
from spadework.selfplay.design.examples import ExampleEnvironment, environment_id
from spadework.selfplay.design.prompts import class_name
from spadework.selfplay.records import Example
from spadework.types import Document, Environment

SHIPPED = Path(__file__).with_name("word_games.toml")
WORDS_OF_A_PROGRAM = 9
"""Words that a program draws from, and so the fewest that a document must have."""
MOST_SHOWN = 8
"""Words that one game shows at most."""

UNASKED = 0.2
"""Share of the unhinted plays that write their work all the same: a habit that reinforcement can find."""
PLACEBO = 0.1
"""Share of the hinted plays whose hint is another family's: no work follows it."""
PLAY_STEPS = (1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6)
"""Steps of the taught plays, each as likely as the others: mostly short, since long work rarely comes out right."""

SHOWN = 0.85
"""Share of the designs that are shown an example of their skill, as memory will."""
FOLLOWED = 0.5
"""Share of those that keep near its size."""
BLIND = 0.12
"""Share of the designs that leave out what the player needs: they run, and are hopeless."""
ONE_STEP, LONG = 0.3, 0.2
"""Shares of the designs that are too easy (one step) and too long (six or seven): there is something to learn."""

_STOP = frozenset(
    "the and for are was that with this from have has its can but not one two each other than then when which into "
    "more most they them their there these those only also what where will would may must such over all any both same "
    "who how does did done been being very many some few first last left right next before after put take start end "
    "three four five six seven eight nine ten half under".split()
)


class WordFamily(BaseModel):
    """One family of games, as its TOML table has it; see ``word_games.toml`` for what each key means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    skill: str
    body: tuple[str, ...]
    opening: str
    hint: str
    work: str
    blind: tuple[str, str]
    words: tuple[int, int] | None = None
    spare: tuple[int, int] | None = None
    taught: bool = True

    def sizes(self, rng: random.Random, steps: int) -> tuple[int, int]:
        """Words shown (M) and steps taken (N) of a game of about ``steps`` steps."""
        if self.words is not None:
            return rng.randint(*self.words), steps
        low, high = self.spare or (1, 1)
        shown = min(MOST_SHOWN, max(2 if high <= 1 else 4, steps + rng.randint(low, high)))
        return shown, min(steps, shown - max(low, 0)) if low else shown

    def play(self, words: Sequence[str], sizes: tuple[int, int], seed: int) -> Game:
        """Run the body as the program of these sizes would with this seed."""
        shown, steps = sizes
        names: dict[str, Any] = {"rng": random.Random(seed), "self": SimpleNamespace(), "M": shown, "N": steps}
        exec("\n".join(_filled(line, words, sizes) for line in self.body), names)
        opening = eval(f"f{_filled(self.opening, words, sizes)!r}", names)
        work = eval(self.work, names)
        return Game(str(opening), tuple(work), str(names["self"].answer))


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    family: tuple[WordFamily, ...] = Field(min_length=2)


@dataclass(frozen=True, slots=True)
class Game:
    """One instance: what the player sees, the work that solves it, and the answer."""

    opening: str
    work: tuple[str, ...]
    answer: str

    def reply(self, with_work: bool) -> str:
        """The winning reply, by choice after the work."""
        box = f"\\boxed{{{self.answer}}}"
        return f"{', '.join(self.work)}. {box}" if with_work else box


class WordLessons:
    """Draws plays, designs and examples of the taught families.

    Args:
        families: at least two that are taught.
        documents: where words and titles come from; those with too few plain words are left out.
    """

    def __init__(self, families: Sequence[WordFamily], documents: Sequence[Document]) -> None:
        self.families = families
        self.taught = [family for family in families if family.taught]
        self.documents = [one for one in documents if len(words_of(one.text)) >= WORDS_OF_A_PROGRAM]
        if len(self.taught) < 2:
            raise ConfigError(
                "lessons.families: at least two families must be taught, for a hint to differ from another"
            )
        if not self.documents:
            raise ConfigError(
                f"lessons.families: no document of the corpus has {WORDS_OF_A_PROGRAM} plain words; set corpus.path"
            )
        self._vocabulary = sorted({word for one in self.documents for word in words_of(one.text)})

    def draw_plays(self, rng: random.Random) -> list[TaughtPlay]:
        """One game without and with a hint. The two share their opening, so the pair costs little more than one."""
        family = rng.choice(self.taught)
        words = rng.sample(self._vocabulary, WORDS_OF_A_PROGRAM)
        game = family.play(words, family.sizes(rng, rng.choice(PLAY_STEPS)), rng.randrange(10**6))
        placebo = rng.random() < PLACEBO
        shown = rng.choice([each for each in self.taught if each is not family]) if placebo else family
        return [
            TaughtPlay("", (Exchange(game.opening, game.reply(rng.random() < UNASKED)),)),
            TaughtPlay(shown.hint, (Exchange(game.opening, game.reply(not placebo)),)),
        ]

    def draw_design(self, rng: random.Random, skills: Sequence[str]) -> TaughtDesign:
        """A design to imitate, aimed badly on purpose; a good example in its prompt shows the form and a size."""
        family = rng.choice([each for each in self.taught if each.skill in skills])
        kind = rng.random()
        steps = 1 if kind < ONE_STEP else rng.randint(6, 7) if kind < ONE_STEP + LONG else rng.randint(2, 5)
        example = None
        if rng.random() < SHOWN:
            size = rng.randint(1, 7)
            example = Example("taught", self._program(rng, rng.choice(self.documents), family, size), "good")
            if rng.random() < FOLLOWED:
                steps = min(7, max(1, size + rng.randint(-1, 1)))
        document = rng.choice(self.documents)
        source = self._program(rng, document, family, steps, blind=rng.random() < BLIND)
        return TaughtDesign(family.skill, document, example, source, family.hint)

    def examples(self) -> tuple[ExampleEnvironment, ...]:
        """What seeds pool and memory: three games a taught family, of two, three and four steps."""
        rng = random.Random(0)
        made = []
        for family in self.taught:
            for steps in (2, 3, 4):
                document = rng.choice(self.documents)
                environment = word_environment(family, self._program(rng, document, family, steps), document.id)
                made.append(ExampleEnvironment(f"{family.name}_{steps}", "easy", document, environment))
        return tuple(made)

    def _program(
        self, rng: random.Random, document: Document, family: WordFamily, steps: int, *, blind: bool = False
    ) -> str:
        words = words_of(document.text)
        rng.shuffle(words)
        return write_program(family, words[:WORDS_OF_A_PROGRAM], family.sizes(rng, steps), document.title, blind=blind)


def load_families(path: Path = SHIPPED) -> tuple[WordFamily, ...]:
    """The families of a TOML file. Raises ``ConfigError`` that names file and key."""
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).family
    except OSError as error:
        raise ConfigError(f"lessons.families: {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise ConfigError(f"{path}: {key}: {problem['msg']}") from None


def words_of(text: str) -> list[str]:
    """Plain lower-case words of a text, each once, but those that the games' own sentences use, and no ``aaab``."""
    found = dict.fromkeys(re.findall(r"\b[a-z]{3,8}\b", text))
    return [word for word in found if word not in _STOP and not re.search(r"(.)\1\1", word)]


def write_program(
    family: WordFamily, words: Sequence[str], sizes: tuple[int, int], title: str, *, blind: bool = False
) -> str:
    """The family's environment program, named for ``title``; a ``blind`` one leaves out what the player needs."""
    opening = family.opening.replace(*family.blind) if blind else family.opening
    lines = [
        "import random",
        "",
        "",
        f"class {class_name(title)}:",
        "    def reset(self, seed=None):",
        "        rng = random.Random(seed)",
        *(f"        {_filled(line, words, sizes)}" for line in family.body),
        f'        return f"{_filled(opening, words, sizes)}", {{}}',
        "",
        "    def step(self, action):",
        "        won = action[7:-1].strip() == self.answer",
        '        return "Done.", float(won), True, False, {}',
        "",
        "    def solution(self):",
        "        return self.answer",
    ]
    return "\n".join(lines) + "\n"


def word_environment(family: WordFamily, source: str, document_id: str) -> Environment:
    """A program of a family as an environment with the family's hint."""
    return Environment(
        id=environment_id(source),
        source=source,
        hint=family.hint,
        skill=family.skill,
        domain="games",
        document_id=document_id,
        cycle=0,
        designer_version=0,
    )


def _filled(text: str, words: Sequence[str], sizes: tuple[int, int]) -> str:
    """A piece of a family with its three places filled in."""
    shown, steps = sizes
    text = re.sub(r"\bM\b", str(shown), text)
    return re.sub(r"\bN\b", str(steps), text).replace("WORDS", " ".join(words))
