"""Training rows merged by their common prefixes into packs, so that a shared prefix is computed once.

The rows of a group share their prompt, and all plays share the system prompt and the examples. A *pack* has each shared
token once. Its rows form a tree, laid out in depth-first order, in which a token attends to its ancestors only
(``tree_attention``). The log-probabilities and gradients are those of the separate rows, for a fraction of the tokens,
and nothing is padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from spadework import types
from spadework.policies.local.sampling.prefix_index import shared_length


@dataclass(slots=True)
class Pack:
    """The N tokens of a tree, and the M sampled tokens that are trained.

    Sampled token m is predicted at node ``nodes[m]``. One node may predict several tokens, each of another row.
    """

    # For example, the rows "a b c" and "a b d e" make the tree of five nodes
    #
    #     node    0  1  2  3  4
    #     tokens  a  b  c  d  e
    #     depths  0  1  2  2  3      the position in the row, which the model's position embedding needs
    #     ends    5  5  3  5  5      node 1 has c, d and e below it; node 2 has nothing
    #
    # and node 1 predicts two tokens: c of the first row and d of the second.
    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    """Position of each token in its row."""
    ends: list[int] = field(default_factory=list)
    """The nodes i <= j < ends[i] are node i and all nodes below it."""
    nodes: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """The row of each sampled token, counted from 0 in this pack. A whole row is always in one pack."""

    def tensors(self, device: torch.device) -> PackTensors:
        """The pack as tensors."""
        return PackTensors(
            torch.tensor(self.tokens, device=device)[None],
            torch.tensor(self.depths, device=device)[None],
            torch.tensor(self.ends, device=device),
            torch.tensor(self.nodes, dtype=torch.long, device=device),
            torch.tensor(self.targets, dtype=torch.long, device=device),
            torch.tensor(self.logprobs, dtype=torch.float32, device=device),
            torch.tensor(self.advantages, dtype=torch.float32, device=device),
            torch.tensor(self.temperatures, dtype=torch.float32, device=device),
            torch.tensor(self.rows, dtype=torch.long, device=device),
        )


@dataclass(frozen=True, slots=True)
class PackTensors:
    """``tokens`` and ``depths`` are [1, N], ``ends`` [N], the others [M]."""

    tokens: Tensor
    depths: Tensor
    ends: Tensor
    nodes: Tensor
    targets: Tensor
    logprobs: Tensor
    advantages: Tensor
    temperatures: Tensor
    rows: Tensor


def build_packs(rows: Sequence[types.TrainingRow], budget: int) -> Iterator[Pack]:
    """Merge rows into packs of at most ``budget`` tokens; a longer row has a pack of its own.

    Rows are sorted by their tokens, which puts those with a common prefix side by side. Each row then shares its
    longest prefix with the row before it, and the tree comes out in depth-first order.
    """
    pack = Pack()
    path: list[int] = []
    previous: tuple[int, ...] = ()
    trainable = [row for row in rows if any(row.loss_mask[1:])]
    for row in sorted(trainable, key=lambda row: row.tokens):
        # Nothing after the last trained token matters. That token itself is predicted and never an input.
        last = max(index for index, trained in enumerate(row.loss_mask) if trained)
        tokens = row.tokens[:last]
        shared = shared_length(previous, tokens)
        if pack.tokens and len(pack.tokens) + len(tokens) - shared > budget:
            # The new pack does not have the nodes of the shared prefix, so this row brings all of its tokens.
            yield pack
            pack, path, shared = Pack(), [], 0
        path = _insert(pack, path[:shared], tokens)
        _add_targets(pack, path, row)
        previous = tokens
    if pack.tokens:
        yield pack


def share_rows(rows: Sequence[types.TrainingRow], count: int) -> list[list[types.TrainingRow]]:
    """Divide rows among ``count`` processes, about equal in tokens after merging.

    Each process gets a stretch of the rows in the order of their tokens, so common prefixes stay together.
    """
    ordered = sorted(rows, key=lambda row: row.tokens)
    previous: tuple[int, ...] = ()
    costs = []
    for row in ordered:
        costs.append(len(row.tokens) - shared_length(previous, row.tokens))
        previous = row.tokens
    shares: list[list[types.TrainingRow]] = [[] for _ in range(count)]
    total, done = sum(costs), 0
    for row, cost in zip(ordered, costs, strict=True):
        # A row goes to the process in whose share of the total its middle lies, which is done + cost / 2; the factors
        # of 2 keep to integers. A row that costs nothing repeats the one before it, and the last process takes it.
        process = (2 * done + cost) * count // (2 * total) if cost else count - 1
        shares[process].append(row)
        done += cost
    return shares


def blank_pack() -> Pack:
    """One token and nothing to train, for a process that has fewer packs than the others but must pass as often."""
    return Pack(tokens=[0], depths=[0], ends=[1])


def _insert(pack: Pack, path: list[int], tokens: Sequence[int]) -> list[int]:
    """Add a row whose first tokens are the nodes of ``path`` already; returns the nodes of the whole row."""
    first = len(pack.tokens)
    fresh = len(tokens) - len(path)
    pack.tokens.extend(tokens[len(path) :])
    pack.depths.extend(range(len(path), len(tokens)))
    # The new nodes are one chain, so the subtree of each ends where the chain does; so do those of their ancestors.
    pack.ends.extend([first + fresh] * fresh)
    for node in path:
        pack.ends[node] = first + fresh
    return path + list(range(first, first + fresh))


def _add_targets(pack: Pack, path: Sequence[int], row: types.TrainingRow) -> None:
    """Add the trained tokens of a row whose nodes are ``path``: token t is predicted at the node of token t - 1."""
    number = pack.rows[-1] + 1 if pack.rows else 0
    for index in range(1, len(path) + 1):
        if row.loss_mask[index]:
            pack.nodes.append(path[index - 1])
            pack.targets.append(row.tokens[index])
            pack.logprobs.append(row.logprobs[index])
            pack.advantages.append(row.advantages[index])
            pack.temperatures.append(row.temperature)
            pack.rows.append(number)
