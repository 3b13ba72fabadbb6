"""Sequences as rows: a class or numbers for each sequence, or a class for each of its steps, by a recurrent net.

    h_t = R(h_{t-1}, z_t),   z_t = (x_t - mean) / scale of a step of numbers, or the row of E for its token
    classify, regress:  raw = A pool(h_1, ..., h_T) + b,    pool: the state after the last step, or the mean
    tag:                raw_t = A h_t + b,                  loss = mean over all steps of -log p(y_t | raw_t)

Sequences of a batch are padded to its longest; each gets what it gets alone. E e_k, a product with a one-hot vector, is
row k of E, so that the gradient is zero for tokens that do not occur.

Shapes: B sequences, T steps, D columns, W width of the embedding, K units, R raw outputs; x (B, T, D + 1), the last
channel 1 at real steps, or (B, T) numbers of tokens, 0 in the padding; raw (B, R) or (B, T, R).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ... import check
from ...check import Count, Share
from ...data import Batch, InputSpec, TargetSpec
from ...data.kinds import Sequences
from ...data.kinds.sequence import FIRST, PADDING, UNKNOWN
from ...draw import Draw
from ...nn import Recurrent
from ...selection import Range, Space
from ...tasks import Tag
from ...train import Loss, Objective, Supervised
from .._base.neural import NeuralEstimator
from .._base.plain import Classes
from .._base.supervised import NeuralClassifier, NeuralRegressor

__all__ = [
    "GRUClassifier", "GRURegressor", "GRUTagger", "LSTMClassifier", "LSTMRegressor", "LSTMTagger", "RNNClassifier",
    "RNNRegressor", "RNNTagger", "SequenceNet", "Steps",
]  # fmt: skip

WIDTH = 32  # of the embedding of text
PART = 128  # sequences of a batch that is not trained on


class Steps(nn.Module):
    """What a recurrent layer reads of sequences that were learned as `spec`: z (B, T, W) and real (B, T)."""

    def __init__(self, spec: InputSpec, width: int) -> None:
        super().__init__()
        if "tokens" in spec.facts:
            self.width = width
            self.embedding = nn.Embedding(FIRST + len(spec.facts["tokens"]), width, padding_idx=PADDING)
            nn.init.zeros_(self.embedding.weight[UNKNOWN])  # the mean of what all others start with
        else:
            self.width, self.embedding = spec.shape[0], None
            self.mean, self.scale = (nn.Buffer(torch.as_tensor(spec.facts[name])) for name in ("mean", "scale"))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.embedding is not None:
            return self.embedding(x), x != PADDING
        return (x[..., :-1] - self.mean) / self.scale, x[..., -1] > 0


Pooling = Literal["last", "mean", "none"]


class SequenceNet(nn.Module):
    """Steps, a recurrent net, and a linear layer for what is pooled of its outputs, or for each of them."""

    def __init__(self, steps: Steps, n_units: int, n_raw: int, cell: str, pooling: Pooling, **options: Any) -> None:
        super().__init__()
        self.steps, self.recurrent, self.pooling = steps, Recurrent(steps.width, n_units, cell, **options), pooling
        self.out = nn.Linear(self.recurrent.n_outputs, n_raw)

    def forward(self, x: Tensor) -> Tensor:
        z, real = self.steps(x)
        outputs, states = self.recurrent(z, real)  # (B, T, K), 0 in the padding
        if self.pooling == "mean":
            outputs = outputs.sum(1) / real.sum(1, keepdim=True)
        if self.pooling == "last":
            ends = states[-len(self.recurrent.cells[-1]) :]  # type: ignore[arg-type]  # one for each direction
            outputs = torch.cat([end[0] if isinstance(end, tuple) else end for end in ends], -1)
        return self.out(outputs)


class Celled:
    """A family with one class for each cell: class Name(..., cell="gru")."""

    cell: ClassVar[str]

    def __init_subclass__(cls, cell: str = "", **options: Any) -> None:
        cls.cell = cell or getattr(cls, "cell", "")
        super().__init_subclass__(**options)


class _Rows(Celled, NeuralEstimator):
    """What all share: the parameters of the net, and the net.

    Args:
        hidden: Units of each layer.
        layers: Recurrent layers, each of which reads the outputs of the one before.
        bidirectional: Whether each layer also reads from the last step to the first.
        dropout: Share of the outputs of a layer silenced in training before the next reads them.
        embedding: Width of the embedding of tokens. None: integers are numbers, and words have one of 32.
    """

    hidden: Count = 64
    layers: Count = 1
    bidirectional: bool = False
    dropout: Share = 0.0
    embedding: Count | None = None
    batch_size: Count | Literal["auto"] = 32

    defaults: ClassVar[Mapping[str, Any]] = {"clip_norm": 1.0}
    space: ClassVar[Space] = {
        "hidden": [32, 64, 128, 256],
        "layers": [1, 2],
        "lr": Range(3e-4, 3e-2, log=True),
        "dropout": Range(0.0, 0.5),
    }

    def kind(self) -> Sequences:
        return Sequences(self.dtype, tokens=self.embedding is not None)

    def build(self, x: InputSpec, y: TargetSpec) -> SequenceNet:
        raw = self.task().likelihood(y).n_raw(y)  # type: ignore[union-attr]
        own = {"layers": self.layers, "bidirectional": self.bidirectional, "dropout": self.dropout}
        pooling: Pooling = getattr(self, "pooling", "none")
        return SequenceNet(Steps(x, self.embedding or WIDTH), self.hidden, raw, self.cell, pooling, **own)

    @property
    def part(self) -> int:
        return PART


class _Pooled(_Rows):
    """Models that answer once for each sequence.

    Args:
        pooling: What is read out: last, the state after the last step, or mean, of the outputs of all steps.
    """

    pooling: Literal["last", "mean"] = "last"


class StepObjective(Supervised):
    """Negative log-likelihood of the class of every real step."""

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        return super().loss(player, _cut(batch), draw)

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        return super().evaluate(_cut(batch), draw)


def _cut(batch: Batch) -> Batch:
    """Without the padding that all rows of the batch have: targets and weights (B, T)."""
    steps, weight = int((batch.y >= 0).sum(1).max()), batch.weight
    cut = weight[:, :steps] if weight is not None and weight.ndim > 1 else weight
    return batch._replace(y=batch.y[:, :steps].clamp_min(0), weight=cut)  # -1: padding, with weight 0


class _Tagger(Classes, _Rows):
    """Models that answer for each step.

    Args:
        class_weight: Weights of the classes of steps, or "balanced".
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    def task(self) -> Tag:
        return Tag(self.class_weight)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        return StepObjective(module, self.likelihood_)

    def batch(self, X: Any, y: Any = None, sample_weight: Any = None) -> Batch:
        found = super().batch(X, y, sample_weight)
        return found if y is None else _cut(found)

    def _each(self, f: Any, X: Any) -> list[np.ndarray]:
        """f of the raw outputs (B, T, R), for each sequence of X without its padding."""
        checked: Any = self.checked(X).x
        lengths = [len(row) for row in checked.values]

        def to_longest(x: Tensor) -> Tensor:
            found = f(self.raw(x)).movedim(1, -1)
            return F.pad(found, (0, max(lengths) - found.shape[-1])).movedim(-1, 1)

        return [row[:n] for row, n in zip(self.apply(to_longest, X), lengths, strict=True)]

    def predict(self, X: Any) -> list[np.ndarray]:
        """The most probable class of each step: a list of (T_i,)."""
        return [self.task().decode(row, self.target_) for row in self._each(lambda raw: self.likelihood_.mode(raw), X)]

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """The probability of each class at each step: a list of (T_i, K)."""
        return self._each(lambda raw: self.likelihood_.probabilities(raw), X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Share of the steps that are right; weights are of sequences."""
        found = self.predict(X)
        right = [np.asarray(a) == np.asarray(check.plain(b)) for a, b in zip(found, y, strict=True)]
        weight: Any = check.weights(1.0 if sample_weight is None else sample_weight, len(found))
        return float(np.average(np.concatenate(right), weights=np.repeat(weight, [len(row) for row in found])))


class LSTMClassifier(_Pooled, NeuralClassifier, cell="lstm"):
    """Classify sequences with a long short-term memory, whose gates keep what matters over many steps.

    Example:
        >>> X = [[0.0, 0.1, 0.3], [0.9, 0.5], [0.2, 0.6, 0.7, 0.9], [0.8, 0.7, 0.1]]
        >>> net = LSTMClassifier(hidden=8, epochs=60, lr=0.05, random_state=0)
        >>> net.fit(X, ["up", "down", "up", "down"]).predict([[0.3, 0.8], [0.9, 0.6, 0.2]])
        array(['up', 'down'], dtype='<U4')
    """


class LSTMRegressor(_Pooled, NeuralRegressor, cell="lstm"):
    """Predict numbers for sequences with a long short-term memory, whose gates keep what matters over many steps.

    Example:
        >>> X = [[1.0], [2.0, 0.0], [0.0, 1.0, 2.0], [1.0, 1.0]]
        >>> net = LSTMRegressor(hidden=8, epochs=200, lr=0.03, random_state=0).fit(X, [1.0, 2.0, 3.0, 2.0])
        >>> bool(abs(net.predict(X) - [1, 2, 3, 2]).max() < 0.3)
        True
    """


class LSTMTagger(_Tagger, cell="lstm"):
    """Classify each step of sequences with a long short-term memory, whose gates keep what matters over many steps.

    Example:
        >>> X, y = ["the cat sat", "a dog ran"], [["det", "noun", "verb"], ["det", "noun", "verb"]]
        >>> [row.tolist() for row in LSTMTagger(epochs=40, lr=0.03, random_state=0).fit(X, y).predict(["the dog sat"])]
        [['det', 'noun', 'verb']]
    """


class GRUClassifier(_Pooled, NeuralClassifier, cell="gru"):
    """Classify sequences with gated recurrent units, which have fewer weights than an LSTM."""


class GRURegressor(_Pooled, NeuralRegressor, cell="gru"):
    """Predict numbers for sequences with gated recurrent units, which have fewer weights than an LSTM."""


class GRUTagger(_Tagger, cell="gru"):
    """Classify each step of sequences with gated recurrent units, which have fewer weights than an LSTM."""


class RNNClassifier(_Pooled, NeuralClassifier, cell="rnn"):
    """Classify sequences with a plain recurrent net, which remembers a few tens of steps."""


class RNNRegressor(_Pooled, NeuralRegressor, cell="rnn"):
    """Predict numbers for sequences with a plain recurrent net, which remembers a few tens of steps."""


class RNNTagger(_Tagger, cell="rnn"):
    """Classify each step of sequences with a plain recurrent net, which remembers a few tens of steps."""
