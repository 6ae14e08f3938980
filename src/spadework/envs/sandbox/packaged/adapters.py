"""One adapter for each package: it lists the environments, makes a problem of a seed, and judges an answer.

Only workers import this module: the packages seed the process's random generators, and some of them leak threads.
"""

from __future__ import annotations

import copy
import importlib
import random
import sys
import types
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from spadework.envs.sandbox.packaged.names import Entry

ATTEMPTS = 4
"""Seeds tried before an RLVE environment is said to have no problem at a level: some generators give up by chance."""

_OPEN, _CLOSE = "\x02", "\x03"
"""Marks around an RLVE answer: no answer holds them, while it may well hold a closing tag."""


class PackagedProblem(Protocol):
    """A question, its judge, and a solution where the package knows one."""

    question: str

    def judge(self, answer: str) -> float:
        """What the answer is paid: 1.0 is a win."""
        ...

    def solution(self) -> str | None:
        """An answer that wins, where the package knows one."""
        ...


class Package(Protocol):
    """A package's environments."""

    def entries(self) -> list[Entry]:
        """All of them, in the package's order."""
        ...

    def problem(self, name: str, difficulty: int | None, seed: int) -> PackagedProblem:
        """The problem of a seed. Raises ``LookupError`` for an unknown name, and whatever the package raises."""
        ...


def load_package(package: str) -> Package:
    """Import the package. Raises ``ImportError``."""
    return Rlve() if package == "rlve" else ReasoningGym()


class Rlve:
    """The 400 environments of ``rlve-gym``, each with a controller that spells out its levels."""

    def __init__(self) -> None:
        # The package imports torch to seed it and draws nothing from it: 180 MB a worker, and seconds of its start.
        torch: Any = types.ModuleType("torch")
        torch.manual_seed = _ignore
        torch.cuda = types.SimpleNamespace(manual_seed_all=_ignore)
        sys.modules["torch"] = torch
        self._base: Any = importlib.import_module("Gym.environment")
        self._environments = importlib.import_module("Gym.environments").identifier2environment
        self._controllers = importlib.import_module("Gym.parameter_controllers").identifier2controller
        self._numpy_random = importlib.import_module("numpy").random

    def entries(self) -> list[Entry]:
        """See ``Package``; the package tells of no skills."""
        return [Entry(name, "RLVE", None) for name in self._environments]

    def problem(self, name: str, difficulty: int | None, seed: int) -> PackagedProblem:
        """See ``Package``."""
        levels = self._controllers[name]()
        for _ in range(difficulty or 0):
            levels.update()
        problem: Any = self._environments[name](answer_markers=(_OPEN, _CLOSE))
        for attempt in range(ATTEMPTS):
            own = (seed + attempt * 1_000_003) % 2**32
            problem.seed = own
            problem.parameter = copy.deepcopy(random.Random(own).choice(levels.get_parameter_list()))
            self.reseed(own)
            try:
                problem._generate()
            except Exception:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            if problem.parameter is not None:
                return _RlveProblem(problem, self, own)
        raise ValueError(f"no problem in {ATTEMPTS} attempts")

    def judge_without_threads(self) -> None:
        """Two judges bound themselves by a thread; a confined child can start none, and is bounded from outside."""
        self._base.ThreadPoolExecutor = _AtOnce

    def reseed(self, seed: int) -> None:
        """Seed what the package draws from."""
        random.seed(seed)
        self._numpy_random.seed(seed)


class _AtOnce:
    """An executor that does its one task when it is given it."""

    def __init__(self, max_workers: int) -> None:
        pass

    def submit(self, work: Callable[..., Any], *args: Any, **named: Any) -> Future[Any]:
        """Do it."""
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args, **named))
        except Exception as error:  # noqa: BLE001 - the future carries it
            done.set_exception(error)
        return done

    def shutdown(self, **_: bool) -> None:
        """Nothing runs."""


class _RlveProblem:
    def __init__(self, environment: Any, package: Rlve, seed: int) -> None:
        self._environment, self._package, self._seed = environment, package, seed
        self.question: str = environment.prompt_generator()

    def judge(self, answer: str) -> float:
        """Binary, as in RLVE's training."""
        self._package.reseed(self._seed)
        self._package.judge_without_threads()
        plain = answer.replace(_OPEN, "").replace(_CLOSE, "")
        return float(self._environment.verifier(f"{_OPEN}{plain}{_CLOSE}")["accuracy"])

    def solution(self) -> str | None:
        """The reference answer; 66 environments have none."""
        answer = self._environment.parameter.get("reference_answer")
        return None if answer is None else str(answer)


class ReasoningGym:
    """The tasks of ``reasoning-gym``, seeded one by one. A win is a full score."""

    def __init__(self) -> None:
        self._factory = importlib.import_module("reasoning_gym.factory")

    def entries(self) -> list[Entry]:
        """See ``Package``; ``composite``, which mixes the others, is left out."""
        return [
            Entry(name, cls.__module__.split(".")[1], self._top(name))
            for name, (cls, _) in self._factory.DATASETS.items()
            if name != "composite"
        ]

    def _top(self, name: str) -> int:
        if not self._factory.has_curriculum(name):
            return -1
        attributes = self._factory.create_curriculum(name).attributes.values()
        return max((len(attribute.levels) for attribute in attributes), default=0) - 1

    def problem(self, name: str, difficulty: int | None, seed: int) -> PackagedProblem:
        """See ``Package``. A data set of one: some make all of theirs at once, and refuse to be large."""
        random.seed(seed)
        settings = {"seed": seed % 2**31, "size": 1}
        if difficulty is None:
            dataset = self._factory.create_dataset(name, **settings)
        else:
            curriculum = self._factory.create_curriculum(name)
            curriculum.set_global_level(difficulty)
            dataset = self._factory.DATASETS[name][0](config=curriculum.generate_configuration(settings))
        return _Task(dataset, dataset[0])


class _Task:
    def __init__(self, dataset: Any, entry: Mapping[str, Any]) -> None:
        self._dataset, self._entry = dataset, entry
        self.question: str = entry["question"]

    def judge(self, answer: str) -> float:
        """The package's score, which pays parts; an answer that its judge cannot read is wrong."""
        try:
            return min(1.0, max(0.0, float(self._dataset.score_answer(answer, self._entry))))
        except (ValueError, TypeError, LookupError, ArithmeticError, SyntaxError, AttributeError):
            return 0.0

    def solution(self) -> str | None:
        """The entry's answer; some tasks have several and name none."""
        answer = self._entry["answer"]
        return answer if isinstance(answer, str) else None


def _ignore(_: int) -> None:
    pass
