"""A tree in words: the question of each node, and one rule per leaf.

Shapes: D features, N nodes, C classes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ...explain import classes_of, names_of
from .nodes import Trees


class Words(NamedTuple):
    """Names and units of the user."""

    names: list[str]  # of the features (D,)
    units: np.ndarray  # shift and scale of each (D, 2)
    classes: tuple[str, ...] = ()  # none: numbers are predicted

    @classmethod
    def of(cls, model: Any, names: Any, scales: Any, classes: Any) -> Self:
        """Those given, or what the model knows itself."""
        d, known = model.n_features_in_, names_of(model, names)
        units = np.broadcast_to((0.0, 1.0), (d, 2)) if scales is None else np.asarray(scales, dtype=float)
        first = list(getattr(model, "categories_", {}))  # boosting puts categories first
        order = [*first, *(j for j in range(d) if j not in first)]
        return cls([known[j] for j in order], units[order], classes_of(model, classes))

    def condition(self, tree: Trees, node: int, *, left: bool = True) -> str:
        """What holds of the rows that go left, or right."""
        j, t = tree.feature[node], float(tree.threshold[node])
        name, (shift, scale) = self.names[j], self.units[j]
        if tree.subset[node] >= 0:
            return f"{name} {'in' if left else 'not in'} {{{', '.join(map(str, tree.members(node)))}}}"
        if np.isinf(t):
            return f"{name} {'known' if left else 'missing'}"
        column, equals, category = name.partition("=")
        if equals and 0 < t < 1 and (shift, scale) == (0.0, 1.0):  # a column of 0 and 1 for a category
            return f"{column} {'≠' if left else '='} {category}"
        return f"{name} {'≤' if left else '>'} {shift + scale * t:.4g}"

    def answer(self, values: np.ndarray) -> str:
        """What a leaf predicts, of its values (T, C)."""
        if not self.classes:
            return ", ".join(f"{v:.4g}" for v in values[:, 0])
        best = int(values[0].argmax())
        return f"{self.classes[best]} {100 * values[0, best]:.0f} %"


def rules(tree: Trees, words: Words) -> list[tuple[int, str]]:
    """Each leaf of a single tree and what leads to it, from left to right."""
    found: list[tuple[int, str]] = []
    todo: list[tuple[int, tuple[Any, ...]]] = [(0, ())]
    while todo:
        node, so_far = todo.pop()
        if tree.left[node] < 0:
            found.append((node, " and ".join(_shortest(so_far)) or "every row"))
            continue
        for child, left in ((tree.right[node], False), (tree.left[node], True)):
            step = (int(tree.feature[node]), left, tree.subset[node] < 0, words.condition(tree, node, left=left))
            todo.append((int(child), (*so_far, step)))
    return found


def _shortest(steps: Sequence[tuple[int, bool, bool, str]]) -> list[str]:
    """Of several bounds on the same side of a feature the last, which is the narrowest."""
    last = {(j, left, "" if bound else text): text for j, left, bound, text in steps}
    return list(last.values())
