"""Trees as plain arrays, and the same trees as scikit-learn predicts with them.

    x_f <= threshold, or x_f in a set of categories: left, else right;     x_f is missing: left where `missing_left`

scikit-learn follows the children that it is given without looking: arrays from a file are checked here first.
Shapes: B trees, N nodes of all of them, tree after tree, each from its root down; T targets, C classes (1 of a
number), S sets of categories.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import NODE_DTYPE, Tree

WORDS = 8  # of 32 bits: a set of 256 categories
_DTYPES = {"left": "i4", "right": "i4", "feature": "i4", "threshold": "f8", "missing_left": "?", "rows": "i8"}
_DTYPES |= {"share": "f8", "impurity": "f8", "subset": "i4"}  # of what there is of each node
_NODE = {"left": "left_child", "right": "right_child", "feature": "feature", "threshold": "threshold"}
_NODE |= {"missing_left": "missing_go_to_left", "rows": "n_node_samples", "impurity": "impurity"}
_RECORD = {"left": "left", "right": "right", "feature": "feature_idx", "threshold": "num_threshold"}
_RECORD |= {"missing_left": "missing_go_to_left", "rows": "count", "impurity": "gain"}


class Trees(NamedTuple):
    """Nodes of trees."""

    sizes: np.ndarray  # nodes of each tree (B,)
    left: np.ndarray  # number of the left child within its tree, -1 at a leaf (N,)
    right: np.ndarray  # of the right child
    feature: np.ndarray  # column that is compared, 0 at a leaf
    threshold: np.ndarray  # 0 at a leaf
    missing_left: np.ndarray  # whether rows without the value go left
    rows: np.ndarray  # how many rows came here
    share: np.ndarray  # of the weight of all rows of its tree
    impurity: np.ndarray  # Gini, entropy or variance; in boosting the gain of the split
    values: np.ndarray  # shares of the classes, or numbers (N, T, C)
    subset: np.ndarray  # the set of categories that go left, by its place in `sets`; -1: a threshold decides
    sets: np.ndarray  # 256 bits each (S, 8)

    @property
    def starts(self) -> np.ndarray:
        """Where each tree begins (B,)."""
        return np.cumsum(self.sizes) - self.sizes

    def one(self, b: int) -> Self:
        """Tree number b alone."""
        start = self.starts[b]
        part = slice(start, start + self.sizes[b])
        return self._replace(sizes=self.sizes[b : b + 1], **{k: getattr(self, k)[part] for k in (*_DTYPES, "values")})

    def each(self) -> Iterator[Self]:
        """One tree after the other."""
        return (self.one(b) for b in range(len(self.sizes)))

    def depth(self) -> np.ndarray:
        """Splits above each node of a single tree (N,)."""
        depth, front = np.zeros(len(self.left), int), np.array([0])
        while len(front):
            inner = front[self.left[front] >= 0]
            children = np.concatenate([self.left[inner], self.right[inner]])
            depth[children] = np.tile(depth[inner] + 1, 2)
            front = children
        return depth

    def members(self, node: int) -> list[int]:
        """The categories that go left at a node."""
        bits = np.unpackbits(self.sets[self.subset[node]].astype("<u4").view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).tolist()

    def descend(self, x: np.ndarray) -> np.ndarray:
        """The nodes of a single tree on the way of one row, from the root to its leaf: (D,) -> (L,)."""
        way = [0]
        while self.left[way[-1]] >= 0:
            i = way[-1]
            z = x[self.feature[i]]
            if np.isnan(z):
                left = self.missing_left[i]
            else:
                left = z <= self.threshold[i] if self.subset[i] < 0 else z in self.members(i)
            way.append(int(self.left[i] if left else self.right[i]))
        return np.array(way)

    def check(self, n_features: int, n_categorical: int, width: tuple[int, int]) -> Self:
        """The same, if it is safe to predict with: D columns, of which the first take categories; (T, C) values."""
        n = len(self.left) if isinstance(self.left, np.ndarray) else 0
        shapes = {**dict.fromkeys(_DTYPES, (n,)), "values": (n, *width), "sets": (len(self.sets), WORDS)}
        dtypes = {**_DTYPES, "values": "f8", "sets": "u4", "sizes": "i8"}
        for name, dtype in dtypes.items():
            array = getattr(self, name)
            if getattr(array, "dtype", None) != dtype or array.shape != shapes.get(name, array.shape):
                raise ValueError(f"trees_.{name} is not an array of {np.dtype(dtype)} of one entry per node")
        if self.sizes.ndim != 1 or not len(self.sizes) or (self.sizes < 1).any() or (self.sizes > n).any():
            raise ValueError("a tree without nodes")
        if self.sizes.sum() != n:
            raise ValueError(f"{n} nodes, but trees of {self.sizes.sum()}")
        self._check_children()
        columns = np.where(self.subset >= 0, n_categorical, n_features)
        bad = ~((self.feature >= 0) & (self.feature < columns)) & (self.left >= 0)
        bad |= (self.subset < -1) | (self.subset >= len(self.sets)) | np.isnan(self.threshold) | (self.rows < 0)
        bad |= ~np.isfinite(self.values).all((1, 2)) | ~np.isfinite(self.impurity) | ~(abs(self.share - 0.5) < 0.51)
        if bad.any():
            raise ValueError(f"node {bad.argmax()} splits a column that is not there, or holds a number out of range")
        return self

    def _check_children(self) -> None:
        """Children come after their parents, in the same tree, and each node but the root has one parent."""
        start, size = np.repeat(self.starts, self.sizes), np.repeat(self.sizes, self.sizes)
        place, inner = np.arange(len(start)) - start, self.left != -1
        for child in (self.left, self.right):
            if ((child == -1) == inner).any() or (inner & ((child <= place) | (child >= size))).any():
                raise ValueError("a node whose child is not one of the nodes after it")
        children = np.concatenate([(child + start)[inner] for child in (self.left, self.right)])
        if not np.array_equal(np.bincount(children, minlength=len(start)), place > 0):
            raise ValueError("a node that is the child of two others, or of none")


def check_curve(name: str, found: Any, columns: Sequence[str]) -> None:
    """Raise where what a file says of a curve is not one array of numbers per column, all of one length."""
    arrays = [np.asarray(found[column]) for column in columns]
    if any(a.ndim != 1 or a.dtype.kind not in "if" or len(a) != len(arrays[0]) or not len(a) for a in arrays):
        raise ValueError(f"{name} does not hold a number of each of {', '.join(columns)}")


def _joined(parts: Sequence[np.ndarray], names: dict[str, str], leaf: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of scikit-learn's nodes under our names."""
    nodes: Any = np.concatenate(parts)
    found = {name: nodes[theirs].astype(_DTYPES[name]) for name, theirs in names.items()}
    for name, value in (("left", -1), ("right", -1), ("feature", 0), ("threshold", 0.0)):
        found[name][leaf] = value
    return {**found, "sizes": np.array([len(part) for part in parts], np.int64)}


def of_trees(given: Iterable[Tree]) -> Trees:
    """Arrays of decision trees."""
    states: list[Any] = [tree.__getstate__() for tree in given]
    parts = [state["nodes"] for state in states]
    leaf = np.concatenate([part["left_child"] == -1 for part in parts])
    share = np.concatenate([p["weighted_n_node_samples"] / p["weighted_n_node_samples"][0] for p in parts])
    values = np.concatenate([state["values"] for state in states])
    rest = {"subset": np.full(len(leaf), -1, np.int32), "sets": np.zeros((0, WORDS), np.uint32)}
    return Trees(**_joined(parts, _NODE, leaf), share=share, values=values, **rest)


def of_predictors(given: Sequence[TreePredictor]) -> Trees:
    """Arrays of the trees of histogram gradient boosting."""
    parts = [tree.nodes for tree in given]
    leaf = np.concatenate([part["is_leaf"] == 1 for part in parts])
    share = np.concatenate([part["count"] / part["count"][0] for part in parts])
    sets = [tree.raw_left_cat_bitsets for tree in given]
    first = np.repeat(np.cumsum([0, *map(len, sets)])[:-1], [len(part) for part in parts])
    nodes: Any = np.concatenate(parts)
    subset = np.where((nodes["is_categorical"] == 1) & ~leaf, nodes["bitset_idx"] + first, -1).astype(np.int32)
    rest = {"values": nodes["value"][:, None, None].copy(), "subset": subset, "sets": np.concatenate(sets)}
    return Trees(**_joined(parts, _RECORD, leaf), share=share, **rest)


def to_tree(tree: Trees, n_features: int) -> Tree:
    """scikit-learn's tree of a single one of ours."""
    nodes: Any = np.zeros(len(tree.left), NODE_DTYPE)
    for name, theirs in _NODE.items():
        nodes[theirs] = getattr(tree, name)
    leaf = tree.left < 0
    nodes["feature"][leaf], nodes["threshold"][leaf] = -2, -2.0
    nodes["weighted_n_node_samples"] = tree.share * tree.rows[0]
    _, targets, classes = tree.values.shape
    made = Tree(n_features, np.full(targets, classes, np.intp), targets)
    state = {"max_depth": int(tree.depth().max()), "node_count": len(nodes), "nodes": nodes}
    made.__setstate__(state | {"values": np.ascontiguousarray(tree.values)})
    return made


def predictor(sets: Iterable[np.ndarray], leaf: np.ndarray, **fields: Any) -> TreePredictor:
    """A tree of scikit-learn's boosting; a set holds the categories that go left, as bits."""
    nodes: Any = np.zeros(len(leaf), PREDICTOR_RECORD_DTYPE)
    for name, value in {**fields, "is_leaf": leaf}.items():
        nodes[name] = value
    bits = np.array([*sets], np.uint32).reshape(-1, WORDS)
    return TreePredictor(nodes, bits, bits)


def to_predictor(tree: Trees) -> TreePredictor:
    """scikit-learn's predictor of a single tree of boosting."""
    leaf, fields = tree.left < 0, {theirs: getattr(tree, name) for name, theirs in _RECORD.items()}
    fields |= {name: np.where(leaf, 0, fields[name]) for name in ("left", "right")}
    fields |= {"is_categorical": tree.subset >= 0, "bitset_idx": np.maximum(tree.subset, 0)}
    return predictor(tree.sets, leaf, value=tree.values[:, 0, 0], depth=tree.depth(), **fields)
