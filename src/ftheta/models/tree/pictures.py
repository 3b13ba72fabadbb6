"""Trees in words and pictures: a tree with its questions, rules and the path of one row; the votes of a forest.

Shapes: N nodes, D features, B trees, K classes, L nodes of a path, T targets, C classes or 1.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier

from ...check import Count
from ...explain import Names, classes_of, explanation, names_of, row_number
from ...plots import GREY, PALETTE, Figure, canvas, drawn, short
from ...results import Result, counted
from .nodes import Trees

LEAVES = 8  # drawn of a tree; what is below them is counted
SMALL, LEVELS = 4, 5  # trees of a forest that are drawn, and levels of each
LIT = PALETTE[1]


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
            last = {(j, left, "" if bound else text): text for j, left, bound, text in so_far}  # the narrowest bounds
            found.append((node, " and ".join(last.values()) or "every row"))
            continue
        for child, left in ((tree.right[node], False), (tree.left[node], True)):
            step = (int(tree.feature[node]), left, tree.subset[node] < 0, words.condition(tree, node, left=left))
            todo.append((int(child), (*so_far, step)))
    return found


def row_of(model: Any, X: Any, row: int) -> np.ndarray:
    """One row as the trees take it (D,)."""
    x = model._table(X)
    return x[row_number(row, len(x))]


def layout(tree: Trees, leaves: int, levels: int = 10**6) -> dict[int, tuple[float, int]]:
    """Place of each node that is drawn, (x, level): those of most rows are opened first."""
    depth, opened, ends = tree.depth(), set(), {0}
    while len(ends) < leaves:
        able = [i for i in ends if tree.left[i] >= 0 and depth[i] < levels]
        if not able:
            break
        node = max(able, key=lambda i: tree.share[i])
        opened.add(node)
        ends = ends - {node} | {int(tree.left[node]), int(tree.right[node])}
    at: dict[int, tuple[float, int]] = {}

    def place(node: int, free: int) -> int:
        if node not in opened:
            at[node] = (free, int(depth[node]))
            return free + 1
        children = int(tree.left[node]), int(tree.right[node])
        for child in children:
            free = place(child, free)
        at[node] = (sum(at[child][0] for child in children) / 2, int(depth[node]))
        return free

    place(0, 0)
    return at


def colors_of(tree: Trees, words: Words) -> list[Any]:
    """A tint for each node: the color of its class, the stronger the purer; of numbers, the darker the larger."""
    from matplotlib.colors import to_rgb

    if not words.classes:
        y = tree.values[:, 0, 0]
        strength, base = (y - y.min()) / (np.ptp(y) or 1.0), [to_rgb(PALETTE[0])] * len(y)
    else:
        p = tree.values[:, 0]
        strength = (p.max(1) - 1 / p.shape[1]) / (1 - 1 / p.shape[1])
        base = [to_rgb(PALETTE[k % (len(PALETTE) - 1)]) for k in p.argmax(1)]
    return [tuple(1 - 0.55 * s * (1 - c) for c in color) for s, color in zip(strength, base, strict=True)]


def leaves_below(tree: Trees, node: int) -> int:
    """Leaves of the branch of a node."""
    branch = [node]
    for i in branch:  # which grows on the way
        branch += [] if tree.left[i] < 0 else [int(tree.left[i]), int(tree.right[i])]
    return int((tree.left[branch] < 0).sum())


def draw_edges(axes: Any, tree: Trees, at: dict[int, Any], lit: set[int], gap: float, **look: Any) -> None:
    """Lines from nodes to children, with a gap at either end; the path is broad and orange."""
    for node, (x, level) in at.items():
        for child in at.keys() & {int(tree.left[node]), int(tree.right[node])}:
            on = {"color": LIT, "lw": 2.8, "zorder": 2} if {node, child} <= lit else {"zorder": 1}
            axes.plot((x, at[child][0]), (-level - gap, -at[child][1] + gap), ls="-", **(look | on))


class TreePicture(Result):
    """A tree, its rules, and the path of one row."""

    tree: Trees
    words: Words
    way: np.ndarray  # nodes of the row (L,), of no row the empty array
    label: str  # of the row
    target: str

    def columns(self) -> dict[str, Any]:
        """One row per leaf."""
        found, tree = rules(self.tree, self.words), self.tree
        leaf = [node for node, _ in found]
        return {
            "if": [rule for _, rule in found],
            self.target: [self.words.answer(tree.values[i]) for i in leaf],
            "rows": tree.rows[leaf],
            "share of rows": tree.share[leaf],
            "impurity": tree.impurity[leaf],
        }

    @property
    def caption(self) -> str:
        tree, way = self.tree, self.way
        leaves, deep = leaves_below(tree, 0), counted(int(tree.depth().max()), "question")
        first = f"{leaves} leaves, at most {deep} deep."
        if leaves == 1:
            return f"The tree asks no question: {self.target} is {self.words.answer(tree.values[0])} for every row."
        if not len(way):
            return first
        steps = [self.words.condition(tree, i, left=tree.left[i] == j) for i, j in zip(way[:-1], way[1:], strict=True)]
        return f"{first} {self.label}: {', '.join(steps)}: {self.target} is {self.words.answer(tree.values[way[-1]])}."

    @drawn
    def figure(self) -> Figure:
        """Boxes with questions; left is yes. The path of the row is orange."""
        at, tree = layout(self.tree, LEAVES), self.tree
        deep = max(level for _, level in at.values())
        wide = max(x for x, _ in at.values())
        figure, axes = canvas(width=max(4.5, 1.2 * wide + 1.2), height=0.8 + 0.8 * (deep + 1))
        axes.set(xlim=(-0.65, wide + 0.65), ylim=(-deep - 0.5, 0.45))
        axes.set_axis_off()
        axes.set_title(f"How {short(self.target, 30)} is decided: left where the answer is yes")
        tint, lit = colors_of(tree, self.words), set(self.way.tolist())
        draw_edges(axes, tree, at, lit, 0.22, color=GREY, lw=1)
        for node, (x, level) in at.items():
            edge = {"edgecolor": LIT if node in lit else GREY, "lw": 2.2 if node in lit else 0.8}
            box = {"boxstyle": "round,pad=0.35", "facecolor": tint[node], **edge}
            text = self._text(node, opened=tree.left[node] >= 0 and int(tree.left[node]) in at)
            axes.text(x, -level, text, ha="center", va="center", size=8.5, zorder=4, bbox=box)
        return figure

    def _text(self, node: int, *, opened: bool) -> str:
        tree, share = self.tree, f"{100 * self.tree.share[node]:.0f} % of rows"
        if opened:
            return f"{short(self.words.condition(tree, node), 22)}?\n{share}"
        more = leaves_below(tree, node)
        below = f"\n… {more} leaves" if more > 1 else ""
        return f"{short(self.words.answer(tree.values[node]), 16)}\n{share}{below}"


@explanation("tree", fresh=True, when=lambda m: len(m.trees.sizes) == 1, otherwise="has several trees; {} needs one")
def tree(
    obj: Any,
    X: Any = None,
    *,
    row: int = 0,
    label: str = "",
    names: Names = None,
    scales: Any = None,
    classes: Names = None,
    target: str = "y",
) -> TreePicture:
    """The questions of a tree as a picture and as rules, with the path of one row.

    Args:
        obj: A fitted tree.
        X: Rows; None: no path is drawn.
        row: The row whose path is drawn.
        label: What it is called.
    """
    single = obj.trees.one(0)
    way = np.zeros(0, int) if X is None else single.descend(row_of(obj, X, row))
    return TreePicture(single, Words.of(obj, names, scales, classes), way, label or f"Row {row}", target)


class Votes(Result):
    """The trees of an ensemble on one row."""

    trees: tuple[Trees, ...]  # those that are drawn
    ways: tuple[np.ndarray, ...]  # the nodes of the row in each of them
    values: np.ndarray  # what each tree says: probabilities (B, K), or numbers (B, 1)
    weight: np.ndarray  # share of each tree in the answer (B,)
    depth: np.ndarray  # questions that each tree asks of the row (B,)
    words: Words
    label: str  # of the row
    target: str

    def columns(self) -> dict[str, Any]:
        """One row per tree."""
        said = [self.words.answer(v[None] if self.words.classes else v[:, None]) for v in self.values]
        known = {"tree": np.arange(1, len(said) + 1), self.target: said, "questions": self.depth}
        return known if np.ptp(self.weight) == 0 else {**known, "weight": self.weight}

    @property
    def caption(self) -> str:
        mean = self.weight @ self.values
        said = self.words.answer(mean[None] if self.words.classes else mean[:, None])
        return f"{self.label}, {counted(len(self.values), 'tree')}: {self.target} is {said}."

    @drawn
    def figure(self) -> Figure:
        """The first trees with the path of the row, and below what all trees say."""
        n, some = len(self.trees), "the first " * (len(self.values) > len(self.trees))
        figure, axes = canvas(n, across=n, width=max(2.3, 7.0 / n), height=4.6, sharey=True)
        axes[0].set_ylabel("questions")
        figure.suptitle(f"{self.label} in {some}{counted(n, 'tree')}, and the votes of all {len(self.values)}")
        for k, (part, one, way) in enumerate(zip(axes, self.trees, self.ways, strict=True)):
            _draw_small(part, one, way, self.words)
            part.set_title(f"tree {k + 1}: {short(self.words.answer(one.values[way[-1]]), 18)}", size=9)
        bottom = figure.add_axes((0.12, 0.13, 0.84, 0.18))
        bottom.set_in_layout(False)
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0, 0.35, 1, 0.65))
        self._draw_votes(bottom)
        return figure

    def _draw_votes(self, axes: Any) -> None:
        if self.words.classes:
            votes = np.bincount(self.values.argmax(1), weights=self.weight, minlength=self.values.shape[1])
            shown = np.sort(np.argsort(-votes)[:8])
            colors = [PALETTE[k % (len(PALETTE) - 1)] for k in shown]
            axes.bar([short(self.words.classes[k], 14) for k in shown], votes[shown], color=colors, width=0.6)
            axes.set(xlabel=short(self.target, 30), ylabel="share of votes", ylim=(0, 1))
            return
        low, high = self.values[:, 0].min(), self.values[:, 0].max()
        gap = 1e-6 * (max(abs(low), abs(high)) or 1.0)  # trees may all say the same
        axes.hist(self.values[:, 0], bins=np.linspace(low - gap, high + gap, 21), color=PALETTE[0], alpha=0.7)
        mean = float(self.weight @ self.values[:, 0])
        axes.axvline(mean, color=LIT, lw=2.5, ls="-", label=f"mean {mean:.4g}")
        axes.set(xlabel=f"{short(self.target, 30)} by each tree", ylabel="trees")
        axes.legend()


def _draw_small(axes: Any, tree: Trees, way: np.ndarray, words: Words) -> None:
    """Dots and lines, a few levels deep."""
    at, lit, tint = layout(tree, 2**LEVELS, LEVELS), set(way.tolist()), colors_of(tree, words)
    draw_edges(axes, tree, at, lit, 0.0, color="0.75", lw=0.8)
    for node, (x, level) in at.items():
        on = node in lit
        if tree.left[node] >= 0 and int(tree.left[node]) not in at:  # more is below
            axes.plot((x, x), (-level, -level - 0.45), ls=":", color=LIT if on else "0.75", lw=2.8 if on else 0.8)
        look = {"ms": 7, "mec": LIT, "mew": 1.8} if on else {"ms": 4.5, "mec": GREY, "mew": 0.6}
        axes.plot(x, -level, "o", color=tint[node], zorder=4, **look)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


@explanation("votes", fresh=True)
def votes(
    obj: Any,
    X: Any,
    *,
    row: int = 0,
    label: str = "",
    trees: Count = SMALL,
    classes: Names = None,
    target: str = "y",
) -> Votes:
    """Several trees with the path of one row in each, and the votes of all.

    Args:
        obj: A fitted forest, or AdaBoost.
        row: The row whose paths are drawn.
        label: What it is called.
        trees: How many trees are drawn.
    """
    x, each = row_of(obj, X, row), list(obj.trees.each())
    ways = [tree.descend(x) for tree in each]
    ends = [tree.values[way[-1]] for tree, way in zip(each, ways, strict=True)]
    values = np.array([end[0] if is_classifier(obj) else end[:, 0] for end in ends])
    if hasattr(obj, "votes_"):  # of a class each, not of probabilities
        values = np.eye(values.shape[1])[values.argmax(1)]
    weight = np.asarray(getattr(obj, "votes_", np.ones(len(each))))
    words, depth = Words.of(obj, None, None, classes), np.array([len(way) - 1 for way in ways])
    some, own, label = tuple(each[:trees]), tuple(ways[:trees]), label or f"Row {row}"
    return Votes(some, own, values, weight / weight.sum(), depth, words, label, target)
