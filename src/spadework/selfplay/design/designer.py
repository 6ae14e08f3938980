"""The designer writes an environment from a document and examples, has it validated, and writes its hint.

This is step 1 of method section 2 for one slot. What goes into a prompt is in ``prompts``, what makes a program valid
in ``envs.check``, and ``cycle`` decides when each slot is designed.

Writing a program and writing its hint are separate steps, so that the program can be played while its hint is written.
``fill_slot`` runs the two steps one after the other.
"""

from __future__ import annotations

import bisect
import dataclasses
import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from spadework.config import DesignerSection, MemorySection
from spadework.domains.settings import settle_designer
from spadework.envs.domain import Domain
from spadework.errors import FaultError, GraderError, PolicyError, SandboxError
from spadework.policies.base import Completion, Message, Policy, SamplingParams
from spadework.selfplay.design.examples import environment_id
from spadework.selfplay.design.novelty import SeenPrograms
from spadework.selfplay.design.program import extract_program
from spadework.selfplay.design.prompts import Brief, design_messages, skeleton_grammar
from spadework.selfplay.keys import check_key, design_key, hint_key
from spadework.selfplay.records import Example, Hint, JudgedProgram
from spadework.text import word_ends
from spadework.types import Design, Document, Environment, Fault, Key, Segment, derive_seed

DrawExamples = Callable[[str, random.Random, Callable[[str], bool]], tuple[Example, ...]]
"""(skill, random generator, function that says whether a program still fits the budget) -> examples for the prompt."""
WriteHint = Callable[[Policy, str, JudgedProgram, Key, Sequence[Message]], Awaitable[Hint | None]]
"""(policy, source, result of its validation, key, conversation to continue) -> hint; ``None`` if none is clean."""

Checking = Callable[[], AbstractContextManager[None]]
"""Makes the context in which a program is checked. Inside it other work for the CPU is held back."""

TWIN = "COPY same structure and numbers as an accepted design"
"""The finding of a program that another slot has written too."""

ModelCheck = Callable[[Policy, str, Key], Awaitable[tuple[str, ...]]]
"""(policy, source, key) -> reasons for rejecting the program; empty where it passes."""


@dataclass(frozen=True, slots=True)
class DesignTools:
    """What the designer uses of other stages, as callables, so that it does not depend on those stages."""

    document: Callable[[int], Document] | None
    """Draws a document from a seed; ``None`` without a corpus."""
    examples: DrawExamples
    validate: Callable[[str], Awaitable[JudgedProgram]]
    hint: WriteHint
    check: ModelCheck | None = None
    """Lets the policy judge a program that passed validation; ``None`` where that check is off."""
    document_tokens: int | None = None
    """The most tokens that are kept of a document; ``None`` for no limit."""


@dataclass(frozen=True, slots=True)
class SlotResult:
    """The result of one slot: every attempt, and the environment if one was accepted."""

    slot: int
    designs: tuple[Design, ...]
    environment: Environment | None


def refuse_twin(result: SlotResult, seen: SeenPrograms | None, playing: Collection[str] = ()) -> SlotResult:
    """Reject the program of a slot if a slot that was filled at the same time has written the same program.

    ``seen`` of ``None`` allows copies of old programs. A program that is in play (its id is in ``playing``) is never
    accepted a second time.
    """
    environment = result.environment
    if environment is None:
        return result
    if environment.id not in playing and (seen is None or environment.source not in seen):
        return result
    twin = dataclasses.replace(result.designs[-1], environment_id=None, findings=(TWIN,))
    return SlotResult(result.slot, (*result.designs[:-1], twin), None)


def cut_to_tokens(document: Document, limit: int, count: Callable[[str], int]) -> Document:
    """The document's longest run of whole words from its start that ``count`` puts at ``limit`` tokens or fewer."""
    if count(document.text) <= limit:
        return document
    ends = [0, *word_ends(document.text)]
    # Counting takes time, so the cut is found by bisection: a longer start has no fewer tokens.
    kept = bisect.bisect_right(ends[1:], limit, key=lambda end: count(document.text[:end]))
    return dataclasses.replace(document, text=document.text[: ends[kept]])


def active_skills(settings: DesignerSection, cycle: int) -> tuple[str, ...]:
    """The skills of a design cycle: a window over all skills that advances by its own width (method section 2).

    Args:
        settings: the designer's settings after ``domains.settings`` has named the skills.
        cycle: a cycle in which the designer writes.
    """
    skills = settings.skills
    width = settings.active_skills or len(skills)
    design_cycle = cycle // settings.every
    start = design_cycle * width
    return tuple(skills[(start + i) % len(skills)] for i in range(width))


@dataclass(frozen=True, slots=True)
class _Draft:
    """A design in progress: what its prompt was made from and, once the model has replied, what it wrote."""

    id: str
    cycle: int
    slot: int
    attempt: int
    skill: str
    document_id: str
    parents: tuple[str, ...]
    messages: tuple[Message, ...]
    prefill: str
    variant: str = ""
    reply: str = ""
    source: str = ""
    repaired: bool = False
    segments: tuple[Segment, ...] = ()

    def sampled(self, completion: Completion, segments: tuple[Segment, ...]) -> _Draft:
        """Return a copy with the model's reply and the program that was found in it."""
        reply = self.prefill + completion.text
        source, repaired = extract_program(reply)
        return dataclasses.replace(self, reply=reply, source=source, repaired=repaired, segments=segments)

    def design(
        self,
        *,
        findings: tuple[str, ...] = (),
        ran: bool = False,
        environment_id: str | None = None,
        fault: Fault | None = None,
        novelty: float | None = None,
        hint_segments: tuple[Segment, ...] = (),
    ) -> Design:
        """Return the finished record. The arguments say how the attempt ended."""
        return Design(
            id=self.id,
            cycle=self.cycle,
            slot=self.slot,
            attempt=self.attempt,
            skill=self.skill,
            document_id=self.document_id,
            parents=self.parents,
            prompt="\n\n".join(f"[{message['role']}]\n{message['content']}" for message in self.messages),
            reply=self.reply,
            source=self.source,
            segments=self.segments,
            findings=findings,
            repaired=self.repaired,
            environment_id=environment_id,
            ran=ran,
            fault=fault,
            variant=self.variant,
            novelty=novelty,
            hint_segments=hint_segments,
        )

    def environment(self, hint: str, domain: str, version: int) -> Environment:
        """Return the environment of a program that passed its checks; ``version`` is that of the designer's weights."""
        return Environment(
            id=environment_id(self.source),
            source=self.source,
            hint=hint,
            skill=self.skill,
            domain=domain,
            document_id=self.document_id,
            cycle=self.cycle,
            designer_version=version,
            parents=self.parents,
            design_id=self.id,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that passed validation. Its ``environment`` can be played before its hint is written."""

    draft: _Draft
    verdict: JudgedProgram
    environment: Environment

    def refused(self, finding: str) -> Design:
        """Return the record of a design that was rejected, although its program ran, because of ``finding``."""
        return self.draft.design(findings=(finding,), ran=True)


class Designer:
    """Writes environments with a policy.

    Args:
        settings: the designer's settings.
        memory: how many examples and how many of their tokens go into a prompt.
        domain: the kind of environment that is designed.
        run_seed: seeds the choice of documents and examples.
        tools: corpus, memory, validation and hints, as callables.
    """

    def __init__(
        self, settings: DesignerSection, memory: MemorySection, domain: Domain, run_seed: int, tools: DesignTools
    ) -> None:
        self.settings = settle_designer(settings, domain)
        self.memory = memory
        self.domain = domain
        self.run_seed = run_seed
        self.tools = tools
        # With a skeleton the reply continues an open code block, so it ends where the block is closed, or where a
        # model that forgets to close it leaves three lines blank.
        self.sampling = SamplingParams(
            settings.max_tokens,
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k,
            stop=("\n```\n", "\n\n\n\n") if settings.skeleton else (),
            grammar=skeleton_grammar(domain) if settings.grammar else None,
            thinking=settings.thinking,
        )

    async def fill_slot(self, policy: Policy, cycle: int, slot: int) -> SlotResult:
        """Attempt designs until an environment is accepted, at most ``attempts`` times."""
        designs: list[Design] = []
        for attempt in range(self.settings.attempts):
            tried = await self.attempt(policy, cycle, slot, attempt)
            if isinstance(tried, Candidate):
                tried, environment = await self.write_hint(policy, tried)
                if environment is not None:
                    return SlotResult(slot, (*designs, tried), environment)
            designs.append(tried)
        return SlotResult(slot, tuple(designs), None)

    async def attempt(
        self, policy: Policy, cycle: int, slot: int, attempt: int, checking: Checking = nullcontext
    ) -> Design | Candidate:
        """Write and check one program; returns a candidate, or a design that was rejected or ended in a fault.

        The program is checked within the context of ``checking``.
        """
        with policy.attend():
            skills = active_skills(self.settings, cycle)
            draft = self._draft(policy, cycle, slot, attempt, skills[slot % len(skills)])
            chat = policy.chat(draft.messages, prefill=draft.prefill)
            try:
                completion = await chat.reply(self.sampling, design_key(cycle, slot, attempt))
                draft = draft.sampled(completion, chat.segments)
                with checking():
                    verdict = await self.tools.validate(draft.source)
                findings, ran = verdict.findings, verdict.ran
                if not findings and self.tools.check is not None:
                    findings = await self.tools.check(policy, draft.source, check_key(cycle, slot, attempt))
                    ran = True
            except (SandboxError, PolicyError, GraderError) as error:
                # These faults say nothing about the program, so the design is recorded as neither good nor bad.
                return draft.design(fault=error.fault)
            except FaultError as error:
                # Every other fault is the program's own and counts against the design.
                return draft.design(findings=(str(error),))
            if findings:
                return draft.design(findings=findings, ran=ran)
            return Candidate(draft, verdict, draft.environment("", self.domain.name, policy.version))

    async def write_hint(self, policy: Policy, candidate: Candidate) -> tuple[Design, Environment | None]:
        """Write the candidate's hint, which completes the environment. Without a clean hint its design is rejected."""
        draft = candidate.draft
        history = draft.messages if self.settings.skeleton else ()
        key = hint_key(draft.cycle, draft.slot, draft.attempt)
        with policy.attend():
            try:
                hint = await self.tools.hint(policy, draft.source, candidate.verdict, key, history)
            except FaultError as error:
                return draft.design(fault=error.fault), None
        if hint is None:
            return candidate.refused("HINT every hint was empty or leaked"), None
        environment = dataclasses.replace(candidate.environment, hint=hint.text)
        novelty = candidate.verdict.novelty
        design = draft.design(ran=True, environment_id=environment.id, novelty=novelty, hint_segments=hint.segments)
        return design, environment

    def _draft(self, policy: Policy, cycle: int, slot: int, attempt: int, skill: str) -> _Draft:
        """Choose document, examples and task, and write the prompt.

        Every choice has a generator of its own, seeded by the attempt: what one of them draws never shifts another.
        """
        seed = derive_seed(self.run_seed, "document", cycle, slot, attempt)
        document = self.tools.document(seed) if self.tools.document else None
        if document is not None and self.tools.document_tokens is not None:
            document = cut_to_tokens(document, self.tools.document_tokens, policy.count_tokens)
        rng = random.Random(derive_seed(self.run_seed, "examples", cycle, slot, attempt))
        left = self.memory.max_tokens

        def fits(source: str) -> bool:
            """Whether an example fits into the tokens that are left, which it then takes."""
            nonlocal left
            cost = policy.count_tokens(source)
            if cost > left:
                return False
            left -= cost
            return True

        examples = self.tools.examples(skill, rng, fits)
        task = self.domain.briefing.draw_task(derive_seed(self.run_seed, "task", cycle, slot, attempt))
        brief = Brief(skill, document, task)
        messages, prefill = design_messages(self.settings, self.domain, brief, examples)
        parents = tuple(example.environment_id for example in examples)
        return _Draft(
            id=f"{cycle}-{slot}-{attempt}",
            cycle=cycle,
            slot=slot,
            attempt=attempt,
            skill=skill,
            document_id=document.id if document else "",
            parents=parents,
            messages=tuple(messages),
            prefill=prefill,
            variant=task.variant if task else "",
        )
