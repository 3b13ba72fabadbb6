"""Sequence to sequence: one recurrent net reads, another writes token by token, from the state that the first left.

    h_0 = state after x_1 ... x_S;    h_t = R(h_{t-1}, E y_{t-1}),    p(y_t | y_1 ... y_{t-1}, x) = softmax(A h_t + b)

In training R reads the true token before (teacher forcing); y_0 and y_{T+1} are the boundary, number 0. `predict` takes
the most probable token at every step and reads it next, until it is the boundary. The loss is the mean over tokens.

Shapes: B sequences, S and T steps, W width of the embeddings, V tokens with the boundary; raw (B, T, V).
Reference: Sutskever, Vinyals and Le, Sequence to Sequence Learning with Neural Networks, arXiv:1409.3215 (2014).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...check import Count, Share
from ...data import Batch, InputSpec, TargetSpec
from ...data.kinds import Sequences
from ...data.kinds.base import padded
from ...nn import Recurrent
from ...tasks import Tag, encode_labels
from .._base.neural import NeuralEstimator
from .rows import PART, StepObjective, Steps

__all__ = ["Seq2Seq", "Translate", "TranslationNet"]


def _words(y: Any) -> Any:
    """Strings as their words, with blanks between them."""
    return [row.split() if isinstance(row, str) else row for row in y] if isinstance(y, list | tuple) else y


@dataclass(frozen=True)
class Translate(Tag):
    """Sequences of tokens, which need not be as long as those of X; the spec holds `classes` and the `longest`."""

    name: ClassVar[str] = "translate"

    def match(self, owner: str, x: Any, y: Any) -> None:
        pass

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        spec = super().learn(owner, _words(y), n, weight, classes)
        return spec._replace(facts={**spec.facts, "longest": max(map(len, _words(y)))})

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray:
        """Numbers of tokens and the boundary, (n, T_max + 1); -1 after it."""
        rows = [encode_labels(np.asarray(row), spec.facts["classes"]) + 2 for row in _words(y)]
        return padded([np.append(row, 1) for row in rows]) - 1

    def decode(self, predictions: np.ndarray, spec: TargetSpec) -> Any:
        """Tokens up to the boundary, for each row of (n, L): a list."""
        ends = [np.append(np.flatnonzero(row == 0), len(row))[0] for row in predictions]
        return [spec.facts["classes"][row[:end] - 1] for row, end in zip(predictions, ends, strict=True)]


class TranslationNet(nn.Module):
    """A net that reads and a net that writes, of the same cell and size."""

    def __init__(self, steps: Steps, width: int, n_units: int, n_tokens: int, cell: str, **options: Any) -> None:
        super().__init__()
        self.steps, self.reads = steps, Recurrent(steps.width, n_units, cell, **options)
        self.embedding, self.writes = nn.Embedding(n_tokens, width), Recurrent(width, n_units, cell, **options)
        self.out = nn.Linear(n_units, n_tokens)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        """Raw outputs at each step, given the tokens before: (B, S, ...), (B, T) -> (B, T, V)."""
        return self.out(self.writes(self.embedding(before), None, self.reads(*self.steps(x))[1])[0])

    def greedy(self, x: Tensor, longest: int) -> Tensor:
        """The most probable token at each step, read at the next: (B, longest)."""
        state, token, made = self.reads(*self.steps(x))[1], x.new_zeros(len(x), dtype=torch.long), list[Tensor]()
        step = self.writes.stepper()
        for _ in range(longest):
            output, state = step(self.embedding(token), state)
            token = self.out(output).argmax(-1)
            made.append(token)
        return torch.stack(made, 1)


class TeacherForcing(StepObjective):
    """Negative log-likelihood of every token, given the true ones before it."""

    def raw(self, batch: Batch) -> Tensor:
        return self.module(batch.x, F.pad(batch.y[:, :-1], (1, 0)))


class Seq2Seq(NeuralEstimator):
    """Turn sequences of tokens or numbers into sequences of tokens of another length, by two recurrent nets.

    Args:
        hidden: Units of each layer of either net.
        layers: Layers of either net.
        dropout: Share of the outputs of a layer silenced in training before the next reads them.
        embedding: Width of the embeddings of tokens; integers of X are tokens.
        cell: lstm, gru or rnn.

    Example:
        >>> X, y = ["un chat", "un chien", "le chat"], ["a cat", "a dog", "the cat"]
        >>> model = Seq2Seq(hidden=16, epochs=80, lr=0.02, random_state=0).fit(X, y)
        >>> [" ".join(row) for row in model.predict(["le chat", "un chien"])]
        ['the cat', 'a dog']
    """

    hidden: Count = 128
    layers: Count = 1
    dropout: Share = 0.0
    embedding: Count = 32
    cell: Literal["lstm", "gru", "rnn"] = "gru"
    batch_size: Count | Literal["auto"] = 32

    defaults: ClassVar[Mapping[str, Any]] = {"clip_norm": 1.0}

    def kind(self) -> Sequences:
        return Sequences(self.dtype, tokens=True)

    def task(self) -> Translate:
        return Translate()

    def build(self, x: InputSpec, y: TargetSpec) -> TranslationNet:
        options = {"layers": self.layers, "dropout": self.dropout}
        return TranslationNet(Steps(x, self.embedding), self.embedding, self.hidden, y.n + 1, self.cell, **options)

    def objective(self, module: nn.Module, y: TargetSpec) -> TeacherForcing:
        return TeacherForcing(module, self.likelihood_)

    @property
    def part(self) -> int:
        return PART

    def predict(self, X: Any) -> list[np.ndarray]:
        """The tokens for each sequence, at most twice as many as the longest of training: a list of (T_i,)."""
        net: Any = self.module_
        longest = 2 * int(self.target_.facts["longest"])
        return self.task().decode(self.apply(lambda x: net.greedy(x, longest), X), self.target_)

    def score(self, X: Any, y: Any) -> float:
        """Share of the sequences of which every token is right."""
        pairs = zip(self.predict(X), _words(y), strict=True)
        return float(np.mean([[*map(str, a)] == [*map(str, b)] for a, b in pairs]))
