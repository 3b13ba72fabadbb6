"""Rows whose columns are exchanged in front of a model: each column as it was before encoding.

Permuting a column, setting it to a value and removing it are one operation: column j of a row is taken from another
row. A pipeline that begins with a `TableEncoder` encodes its rows once; then encoded columns are exchanged. Behind the
first linear layer of a net, other cells in a column change the sums by one product:  s' = W x + b + W_j (x'_j - x_j).
Shapes: n rows, D columns, W encoded columns, K outputs; H units of the first layer, c columns that change.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from torch import nn

from ... import check
from ...catalog import nearest
from ...data import TableEncoder
from ...errors import InputError, InputTypeError
from .._probe import calls, named, names_of, untouched

TABLES = {
    "needs": "predict n_features_in_",
    "otherwise": "does not predict a class or a number from the columns of a table; {} needs a model that does",
}
NUMBERS = 2**20  # encoded cells that are predicted at once
PART = 1024  # rows whose sums stay in the cache
CORRELATED = 0.7  # columns each two of which are correlated so much are looked at together


def of_a_table(obj: Any) -> bool:
    """True if an estimator predicts classes or numbers, and one of its rows is a vector."""
    if len(getattr(getattr(obj, "input_", None), "shape", (1,))) != 1:
        return False
    if hasattr(obj, "kind") and obj.kind().name != "table":
        return False
    return not hasattr(obj, "__sklearn_tags__") or is_classifier(obj) or is_regressor(obj)


class FirstLayer:
    """The sums of the first layer for some rows, and an estimator that predicts from sums."""

    def __init__(self, model: Any, layer: nn.Linear, x: torch.Tensor) -> None:
        self.layer, self.module, self.sums = layer, model.module_, layer(x)  # (n, H)
        self.estimator = copy(model)  # which is given parts of sums instead of rows
        self.estimator.raw = lambda parts: torch.cat([model.raw(part) for part in parts])
        self.estimator.apply = lambda f, parts: f(parts).cpu().numpy()

    @classmethod
    def of(cls, model: Any, values: np.ndarray) -> Self | None:
        """Of an estimator whose net begins with a linear layer and uses x nowhere else; None for others."""
        if not (hasattr(model, "module_") and hasattr(model, "raw") and hasattr(model, "apply")):
            return None
        like = next(model.module_.parameters())
        x = torch.as_tensor(values).to(like.device, like.dtype)
        with untouched(model.module_), torch.no_grad(), calls(model.module_) as seen:
            model.raw(x[:2])
            if not seen or type(layer := seen[0].layer) is not nn.Linear or not torch.equal(seen[0].inputs[0], x[:2]):
                return None
            found = cls(model, layer, x)
        try:  # the same predictions: nothing but the layer reads x
            ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
            ours = found.predict(ask, np.zeros((len(x), 1), values.dtype), [0])
            return found if np.allclose(ours, getattr(model, ask)(named(model, values)), rtol=1e-3, atol=1e-6) else None
        except (RuntimeError, TypeError, ValueError):
            return None

    def predict(self, ask: str, change: np.ndarray, columns: Sequence[int]) -> np.ndarray:
        """`predict` or `predict_proba` of all rows after a change of some columns: (n, c) -> (n, ...)."""
        training = [part for part in self.module.modules() if part.training]
        self.module.eval()
        self.layer.forward = lambda input: input
        try:
            with torch.no_grad():
                weight = self.layer.weight[:, columns].T.contiguous()
                moved = torch.as_tensor(change).to(weight.device, weight.dtype)
                sums = zip(self.sums.split(PART), moved.split(PART), strict=True)
                return getattr(self.estimator, ask)([torch.addmm(part, by, weight) for part, by in sums])
        finally:
            del self.layer.forward
            for part in training:
                part.training = True


class Columns:
    """The columns of some rows, in front of a model; the rows have been encoded where the model knows how."""

    def __init__(self, model: Any, X: Any) -> None:
        X = X.to_pandas() if hasattr(X, "to_pandas") else X if hasattr(X, "iloc") else np.asarray(check.plain(X))
        if X.ndim != 2 or X.shape[1] != model.n_features_in_ or not len(X):
            raise InputError(f"X has shape {X.shape}; pass rows of the {model.n_features_in_} columns of the model.")
        self.raw, self.whole, self.model = X, model, model  # rows as the user wrote them
        self.names = tuple(map(str, X.columns)) if hasattr(X, "columns") else tuple(names_of(model))
        first = model[0] if isinstance(model, Pipeline) else None
        encoder = first if isinstance(first, TableEncoder) else None
        self.values: Any = X  # what is exchanged: an array (n, W), or a frame
        if encoder is not None:
            self.model = model[-1] if len(model) == 2 else model[1:]
            self.values = np.ascontiguousarray(encoder.transform(X))
        elif hasattr(X, "iloc") and len(set(X.dtypes)) == 1 and X.dtypes.iloc[0].kind in "fiu":
            self.values = X.to_numpy()
        if isinstance(self.values, np.ndarray) and self.values.dtype.kind == "f":
            self.values = self.values.astype(getattr(self.model, "dtype", self.values.dtype), copy=False)
        widths = [1] * len(self.names) if encoder is None else [len(plan.outputs) for plan in encoder.plans_]
        edges = np.cumsum([0, *widths])
        self.blocks = [*map(slice, edges[:-1], edges[1:])]  # the encoded columns of each raw one
        self.owner = np.repeat(np.arange(len(widths)), widths)  # the raw column of each encoded one (W,)
        self.used = [j for j, width in enumerate(widths) if width]  # raw columns that were not left out

    def __len__(self) -> int:
        return len(self.raw)

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        found, at = copy(self), np.arange(len(self))[rows]
        vars(found).pop("first", None)
        found.raw, found.values = (v.iloc[at] if hasattr(v, "iloc") else v[at] for v in (self.raw, self.values))
        return found

    def column(self, j: int) -> np.ndarray:
        """The cells of a column as they were given: (n,)."""
        if not hasattr(self.raw, "iloc"):
            return self.raw[:, j]
        found = self.raw.iloc[:, j]
        return found.to_numpy(float, na_value=np.nan) if found.dtype.kind in "iuf" else np.asarray(found)

    def with_cells(self, j: int, rows: Any, cells: Any = None) -> Self:
        """Some of the rows, and other cells in column j."""
        raw = self.take(rows).raw.copy()
        if cells is not None and hasattr(raw, "iloc"):
            raw.isetitem(j, type(raw.iloc[:, j])(cells, index=raw.index).astype(raw.dtypes.iloc[j]))
        elif cells is not None:
            raw[:, j] = cells
        return type(self)(self.whole, raw)

    def joined(self, other: Self) -> Self:
        """These rows, then others."""
        found = self.take(slice(None))
        if isinstance(self.values, np.ndarray):
            found.values = np.concatenate([self.values, other.values])
        else:
            found.values = pd.concat([self.values, other.values], ignore_index=True)
        found.raw = np.zeros((len(self) + len(other), 0))  # how many there are
        return found

    def exchanged(self, places: Sequence[int], source: Self, rows: Any, *, labels: bool = False) -> np.ndarray:
        """Predictions of all rows with some of their columns taken from rows of a source."""
        if self.first is None:
            at = np.tile(np.arange(len(self))[:, None], len(self.names))
            at[:, list(places)] = len(self) + np.asarray(rows)[:, None]
            return self.predict(self.joined(source).compose(at), labels=labels)
        at = [column for j in places for column in range(self.blocks[j].start, self.blocks[j].stop)]
        change = source.values[:, at][rows] - self.values[:, at]
        return np.asarray(self.first.predict(self._ask(labels), change, at))

    def exchanges(self, places: Sequence[int], source: Self, orders: Any, *, labels: bool = False) -> list[np.ndarray]:
        """`exchanged` for several choices of rows; for most models as many in one call as fit."""
        if self.first is not None:
            return [self.exchanged(places, source, rows, labels=labels) for rows in orders]
        step, made = max(1, NUMBERS // max(len(self) * len(self.owner), 1)), []
        for at in range(0, len(orders), step):
            some = orders[at : at + step]
            many = self.take(np.tile(np.arange(len(self)), len(some)))
            made += np.split(many.exchanged(places, source, np.concatenate(some), labels=labels), len(some))
        return made

    @cached_property
    def first(self) -> FirstLayer | None:
        """The first layer of a net, where changing a column needs no more."""
        return FirstLayer.of(self.model, self.values) if isinstance(self.values, np.ndarray) else None

    def _ask(self, labels: bool) -> str:
        return "predict_proba" if hasattr(self.model, "predict_proba") and not labels else "predict"

    def compose(self, rows: np.ndarray) -> Any:
        """Values of rows whose column j is that of row rows[:, j]: (m, D) -> (m, W)."""
        if isinstance(self.values, np.ndarray):
            return np.take_along_axis(self.values, rows[:, self.owner], 0)
        made = self.values.take(rows[:, 0])
        for j in range(rows.shape[1]):
            made.isetitem(j, self.values.iloc[:, j].array.take(rows[:, j]))
        return made

    def predict(self, values: Any = None, *, labels: bool = False) -> np.ndarray:
        """Probabilities of classes (n, K) where the model has them and no labels are wanted, else predictions."""
        values = self.values if values is None else values
        ask = getattr(self.model, self._ask(labels))
        made = ask(named(self.model, values) if isinstance(values, np.ndarray) else values)
        if isinstance(made, list):
            raise InputTypeError("A model that gives several targets classes is not explained; fit one for each.")
        return np.asarray(made)

    def outputs(self, made: np.ndarray) -> np.ndarray:
        """Predictions as numbers: probabilities; of classes without probabilities 1 for the predicted: (n, K)."""
        classes = getattr(self.model, "classes_", None)
        if made.ndim == 1 and classes is not None:
            made = made[:, None] == np.asarray(classes)
        return made.reshape(len(made), -1).astype(float)

    def batched(self, rows: np.ndarray) -> np.ndarray:
        """Outputs of composed rows, as many at once as fit: (m, D) -> (m, K)."""
        step = max(1, NUMBERS // max(len(self.owner), 1))
        parts = [self.predict(self.compose(rows[at : at + step])) for at in range(0, len(rows), step)]
        return self.outputs(np.concatenate(parts))

    def numbers(self, columns: Sequence[str | int]) -> list[int]:
        """Places of columns that are given by name or place."""
        known = {**dict(enumerate(range(len(self.names)))), **{name: j for j, name in enumerate(self.names)}}
        for column in columns:
            if column not in known:
                raise InputError(nearest("column", str(column), self.names))
        return [known[column] for column in columns]


def missing(values: Any) -> np.ndarray:
    """Which cells are empty: (n,)."""
    return np.asarray(pd.isna(values))


def word(cell: Any) -> str:
    """A cell for readers."""
    if missing(np.array([cell], dtype=object))[0]:
        return "missing"
    if isinstance(cell, np.datetime64):
        return str(cell)[:10]
    return f"{cell:.4g}" if isinstance(cell, float | np.floating) else str(cell)


@dataclass(frozen=True)
class Output:
    """What the numbers of `Columns.outputs` are, in words."""

    names: tuple[str, ...]  # of the K outputs
    classes: bool  # whether they are probabilities

    @property
    def kept(self) -> list[int]:
        """Those that say all: of two classes the second."""
        return [1] if self.classes and len(self.names) == 2 else list(range(len(self.names)))

    def words(self, k: int) -> str:
        """What output k is."""
        return f"probability of {self.names[k]}" if self.classes else f"predicted {self.names[k]}"

    @property
    def label(self) -> str:
        """Of an axis for all that are kept."""
        some = len(self.kept) > 1
        return ("probability" if self.classes else "prediction") if some else self.words(self.kept[0])


def outputs_of(model: Any, k: int, target: str, classes: Sequence[str] | None) -> Output:
    """Names of k outputs: of classes with their names, or of numbers."""
    what, own = target or "y", getattr(model, "classes_", None)
    if own is None:
        return Output((what,) if k == 1 else tuple(f"{what} {i + 1}" for i in range(k)), classes=False)
    for names in (classes or (), np.ravel(own).tolist()):
        if len(names) == k:
            return Output(tuple(map(str, names)), classes=True)
    return Output(tuple(f"label {i + 1}" for i in range(k)), classes=True)


def correlated(columns: Columns) -> tuple[list[list[int]], np.ndarray]:
    """Groups of columns that go together, and all correlations (D, D): √ of the adjusted r², η² or Cramér's V².

        V²_ij = Σ σ(Q_iᵀ Q_j)² / min(w_i, w_j),      Q_j an orthonormal basis of the encoded column j, centered

    Levels have a column each; marks of missing cells are left out. What chance gives, max(w) / (n - 1), is taken off.
    """
    n, found = len(columns), np.zeros((len(columns.names),) * 2)
    blocks = {j: q for j, block in enumerate(_numeric(columns)) if (q := _basis(block)).shape[1]}
    if len(blocks) < 2 or n < 3:
        return [], found
    width = np.array([q.shape[1] for q in blocks.values()])
    every, starts, places = np.hstack(list(blocks.values())), np.cumsum([0, *width[:-1]]), list(blocks)
    shared = np.add.reduceat(np.add.reduceat((every.T @ every) ** 2, starts, 0), starts, 1)
    shared /= np.minimum.outer(width, width)
    chance = np.minimum(np.maximum.outer(width, width) / (n - 1), 0.99)
    found[np.ix_(places, places)] = np.sqrt(np.clip((shared - chance) / (1 - chance), 0, 1))
    far = np.clip(1 - (found + found.T) / 2, 0, 1)
    np.fill_diagonal(far, 0)
    label = fcluster(linkage(squareform(far), "complete"), 1 - CORRELATED + 1e-9, "distance")  # each with each other
    groups = [np.flatnonzero(label == k).tolist() for k in np.unique(label)]
    return [group for group in groups if len(group) > 1], found


def _numeric(columns: Columns) -> list[np.ndarray]:
    """Each raw column as numbers (n, w), without the marks of missing cells."""
    if isinstance(columns.values, np.ndarray) and len(columns.owner) == len(columns.names):
        return list(columns.values.astype(float).T[:, :, None])
    frame = pd.DataFrame(columns.raw)
    try:
        encoder = TableEncoder().fit(frame)
    except InputError:  # there is nothing to learn from: no column goes with another
        return []
    kept = [[not name.endswith(" missing") for name in plan.outputs] for plan in encoder.plans_]
    return [plan.apply(frame.iloc[:, j])[:, kept[j]] for j, plan in enumerate(encoder.plans_)]


def _basis(block: np.ndarray) -> np.ndarray:
    """An orthonormal basis of centered columns: (n, w) -> (n, rank)."""
    if not block.shape[1]:
        return block
    there = np.isfinite(block)
    mean = np.where(there, block, 0).sum(0) / np.maximum(there.sum(0), 1)
    u, s, _ = np.linalg.svd(np.where(there, block - mean, 0.0), full_matrices=False)
    return u[:, s > 1e-9 * max(s[0], 1e-300) * len(block)]
