"""Comparison of two models on the same rows: is the difference more than chance?

    classes    McNemar: A has k of the m rows right on which exactly one is right;   equal: k ~ Binomial(m, 1/2)
    numbers    d_i = loss of A - loss of B in row i;   t = d̄ / (s / √n);   Wilcoxon's signed ranks;
               sign flips: the share of 9,999 random signs ε with |Σ ε_i d_i| >= |Σ d_i|

The rows must not have been seen in training. One split does not show other seeds or other training rows.
Shapes: n rows, G blocks of rows (as in `Bootstrap`), R flips.
Reference: Dietterich, Approximate statistical tests for comparing supervised classification learning algorithms, Neural
Computation 10 (1998).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr
from scipy.stats import binomtest
from scipy.stats import wilcoxon as signed_ranks

from .. import plots
from ..errors import InputError
from ..plots import Figure
from ..results import Result, Table
from ._rows import labeled, level_of, numbers, vector
from .intervals import Bootstrap

MIN_ROWS, FLIPS, MAX_CLASSES = 10, 9999, 20


def sign_flip(d: Any, seed: int = 0) -> tuple[float, float]:
    """The mean of differences (n,) against its law where every sign is a coin; p is at least 1/10,000."""
    (d,) = numbers(d=d)
    part = Bootstrap(len(d), seed=seed).sums([d])[:, 0]  # (G,)
    rng = np.random.default_rng([seed, 2])
    seen = abs(part.sum()) * (1 - 1e-12)  # equal sums in another order
    as_large = 0
    for r in (500,) * (FLIPS // 500) + (FLIPS % 500,):
        as_large += int((abs((2.0 * rng.integers(0, 2, (r, len(part))) - 1) @ part) >= seen).sum())
    return float(d.mean()), (1 + as_large) / (1 + FLIPS)


class PairedTest(NamedTuple):
    """One test of one measure; the difference is A's minus B's, `low` and `high` None where there is no interval."""

    measure: str
    test: str
    statistic: float
    p: float
    difference: float
    low: float | None
    high: float | None


class Comparison(Result, eq=True):
    """Two models on the same rows."""

    names: tuple[str, str]
    n: int  # rows
    level: float  # confidence level of the intervals; one minus it is the p below which a difference counts
    values: dict[str, tuple[float, float]]  # by measure, the mean of A and of B
    tests: tuple[PairedTest, ...]  # the first decides the verdict

    def table(self) -> Table:
        """One row per test; "none" where no interval could be computed."""
        ends = [("none", "none") if t.low is None else (t.low, t.high) for t in self.tests]
        columns = {name: [getattr(t, name) for t in self.tests] for name in PairedTest._fields[:5]}
        columns |= {"low": [e[0] for e in ends], "high": [e[1] for e in ends], "n": [self.n] * len(ends)}
        return Table(columns, self.meaning)

    def figure(self) -> Figure:
        a, b = self.names
        one = {t.measure: t for t in self.tests}
        better = {m: f"{a} is better {'above' if m == 'accuracy' else 'below'} 0" for m in one}
        label = f"{{}} of {a} minus {b}\n{{}}".format
        panels = {label(m, better[m]): [("difference", t.difference, t.low, t.high)] for m, t in one.items()}
        title = f"{a} against {b} on {self.n:,} rows, {100 * self.level:g} % intervals"
        return plots.whiskers(panels, title=title, at=0.0)

    @property
    def ahead(self) -> str | None:
        """Which has the better value of the first test's measure; None where both have the same."""
        x, y = self.values[self.tests[0].measure]
        return None if x == y else self.names[(x > y) != (self.tests[0].measure == "accuracy")]

    @property
    def better(self) -> str | None:
        """Which is better by the first test; None where chance alone could make the difference."""
        return self.ahead if self.tests[0].p <= 1 - self.level else None

    @property
    def meaning(self) -> str:
        """The verdict of the first test, in a sentence; which others disagree, in another."""
        (a, b), first, alpha = self.names, self.tests[0], 1 - self.level
        x, y = self.values[first.measure]
        said = f"{first.measure.capitalize()} is {x:.4g} for {a} and {y:.4g} for {b} on the same {self.n:,} rows: "
        said += f"{self.better} is better; chance alone would seldom" if self.better else "chance alone could"
        said += f" make this difference ({first.test}, p = {first.p:.2g})"
        said += "." if self.better else "; these rows do not tell which is better."
        others = [t for t in self.tests if (t.p <= alpha) != (first.p <= alpha)]
        tests = ", ".join(f"{t.test} of the {t.measure} p = {t.p:.2g}" for t in others)
        return f"{said} The tests disagree: {tests}." if others else said

    @property
    def caption(self) -> str:
        t = self.tests[0]
        interval = "" if t.low is None else f", {100 * self.level:g} % interval {t.low:.4g} to {t.high:.4g}"
        return f"Difference {t.difference:.4g}{interval}. {self.meaning}"


def compare(
    y: Any,
    a: Any,
    b: Any,
    *,
    classes: Sequence[Any] | None = None,
    names: tuple[str, str] = ("A", "B"),
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare the predictions of two models for the same rows.

    Args:
        a: Predictions of one (n,).
        b: Predictions of the other (n,).
        classes: The labels, if y are labels; None: text, booleans and up to 20 different integers are labels, if the
            predictions are of the same kind.
        names: What the two are called.

    Example:
        >>> compare(["x"] * 9, ["x"] * 9, ["x"] * 3 + ["z"] * 6).tests[0].p
        0.031
    """
    n = len(vector("y", y))
    if n < 2:
        raise InputError("y has one row; two models cannot be compared on fewer than two rows.")
    boot = Bootstrap(n, level_of(level), seed=seed)
    kinds = {vector(name, v).dtype.kind for name, v in (("y", y), ("a", a), ("b", b))}
    few = kinds <= {"i", "u"} and len(np.unique(np.concatenate([vector("y", v) for v in (y, a, b)]))) <= MAX_CLASSES
    of = _labels if classes is not None or few or not kinds & set("fiu") else _numbers
    values, tests = of(y, a, b, classes, boot)
    return Comparison(names, n, boot.level, values, tests)


def _labels(y: Any, a: Any, b: Any, classes: Sequence[Any] | None, boot: Bootstrap) -> Any:
    _, (t, first, second) = labeled(classes, y=y, a=a, b=b)
    d = (first == t).astype(float) - (second == t)  # 1: only A is right, -1: only B
    only_a, differ = int((d > 0).sum()), int((d != 0).sum())
    p = float(binomtest(only_a, differ).pvalue) if differ else 1.0
    interval = _interval(d, boot) if differ >= MIN_ROWS else (None, None)
    test = PairedTest("accuracy", "McNemar exact", float(only_a), p, float(d.mean()), *interval)
    return {"accuracy": (float((first == t).mean()), float((second == t).mean()))}, (test,)


def _numbers(y: Any, a: Any, b: Any, _: Any, boot: Bootstrap) -> Any:
    y, a, b = numbers(y=y, a=a, b=b)
    values, tests = {}, []
    for measure, power in (("mean squared error", 2), ("mean absolute error", 1)):
        each = abs(y - a) ** power, abs(y - b) ** power
        d = each[0] - each[1]
        values[measure] = float(each[0].mean()), float(each[1].mean())
        tests += paired_tests(measure, d, boot)
    return values, tuple(tests)


def paired_tests(measure: str, d: np.ndarray, boot: Bootstrap) -> tuple[PairedTest, ...]:
    """Tests of whether the mean of differences (n,) is 0, with its interval."""
    mean, interval = float(d.mean()), _interval(d, boot)
    found: dict[str, Any] = {"sign flips": sign_flip(d, boot.seed), "paired t": (0, 1), "Wilcoxon signed ranks": (0, 1)}
    if d.any():
        with np.errstate(divide="ignore"):
            t = mean / (d.std(ddof=1) / np.sqrt(len(d)))
        found |= {"paired t": (t, 2 * stdtr(len(d) - 1, -abs(t))), "Wilcoxon signed ranks": signed_ranks(d)}
    return tuple(PairedTest(measure, name, float(s), float(p), mean, *interval) for name, (s, p) in found.items())


def _interval(d: np.ndarray, boot: Bootstrap) -> tuple[float, float] | tuple[None, None]:
    if len(d) < MIN_ROWS:
        return None, None
    return boot.interval((np.ones(len(d)), d), lambda s: s[..., 1] / s[..., 0]) or (None, None)
