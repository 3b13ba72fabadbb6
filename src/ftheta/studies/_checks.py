"""Checks: the parts of a claim, each decided by a 95 % interval over seeds, and the verdict they give together.

    more(a, b):   mean of a - b over seeds ± t s / √S lies above 0        less: below 0
    same(a, b):   it lies inside ± within
    near(a, v):   v lies where the result of one more seed would: mean ± t s √(1 + 1/S)

Arrays are (..., S): cells, then seeds. A check of several cells holds if it holds in all, and fails if it fails in one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

Verdict = Literal["right", "loose", "wrong", "incomplete", "undecided"]


class Check(NamedTuple):
    """One part of a claim."""

    text: str  # what is checked
    holds: bool | None  # None: these seeds do not decide
    number: str = ""  # the numbers that decide
    missing: bool = False  # the source leaves out what is needed

    @property
    def answer(self) -> str:
        """Whether it holds, in words."""
        words = {True: "yes", False: "no", None: "undecided"}
        return "not stated in the source" if self.missing else words[self.holds]

    def __str__(self) -> str:
        return f"{self.text}: {self.answer}" + (f" ({self.number})" if self.number else "")


Checks = Iterator[Check]  # what a claim yields


def holds(text: str, condition: Any, number: Any = "") -> Check:
    """A condition that nothing random decides.

    Example:
        >>> str(holds("the table has three rows", True, 3))
        'the table has three rows: yes (3)'
    """
    return Check(text, bool(condition), str(number))


def missing(text: str) -> Check:
    """Something that the claim needs and the source does not state: the verdict is incomplete."""
    return Check(text, None, "", True)


def more(text: str, a: Any, b: Any = 0.0, *, least: float = 0.0) -> Check:
    """Whether a exceeds b, seed by seed; with `least`, by at least so much in the mean.

    Example:
        >>> more("a is larger", [3.0, 3.1, 2.9], [1.0, 1.2, 1.1]).holds
        True
    """
    mean, half = _difference(a, b)
    return _check(text, (mean - half > 0) & (mean >= least), mean + half < least, mean, half, (mean - half).argmin())


def less(text: str, a: Any, b: Any = 0.0, *, least: float = 0.0) -> Check:
    """Whether a is below b, seed by seed: `more` with the sides exchanged."""
    return more(text, b, a, least=least)


def same(text: str, a: Any, b: Any = 0.0, *, within: float) -> Check:
    """Whether a and b differ by at most `within`: equivalence, not just a difference that is not significant."""
    mean, half = _difference(a, b)
    size = np.abs(mean)
    return _check(text, size + half <= within, size - half > within, mean, half, (size + half).argmax())


def near(text: str, a: Any, value: Any, *, slack: float = 0.0) -> Check:
    """Whether a printed value lies where the result of one more seed would, up to `slack` (its rounding)."""
    mean, half = _difference(a, np.asarray(value, dtype=float)[..., None])
    distance = np.abs(mean) - half * (np.shape(a)[-1] + 1) ** 0.5 - slack
    return _check(text, distance <= 0, distance > 0, mean, half, distance.argmax())


def verdict(checks: Iterable[Check]) -> Verdict:
    """What the checks say of the source.

    Example:
        >>> verdict([Check("a", True), Check("b", False)]), verdict([Check("a", True), Check("b", None)])
        ('loose', 'undecided')
    """
    checks = list(checks)
    outcomes = {check.holds for check in checks}
    if any(check.missing for check in checks):
        return "incomplete"
    if outcomes == {True}:
        return "right"
    if False in outcomes:
        return "loose" if True in outcomes else "wrong"
    return "undecided"


def _difference(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds (the last axis) and half of its 95 % interval (Student's t): (cells,) each."""
    from scipy.special import stdtrit

    gain = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    gain = gain.reshape(-1, gain.shape[-1])
    n = gain.shape[-1]
    if n < 2:
        return gain.mean(-1), np.full(len(gain), np.inf)
    return gain.mean(-1), stdtrit(n - 1, 0.975) * gain.std(-1, ddof=1) / n**0.5


def _check(text: str, good: np.ndarray, bad: np.ndarray, mean: np.ndarray, half: np.ndarray, worst: Any) -> Check:
    """All cells must hold, one that fails is enough; the numbers are those of the worst cell."""
    several = f", {good.sum()} of {len(good)} hold" if len(good) > 1 else ""
    number = f"{mean[worst]:+.3g} ± {half[worst]:.2g}{several}"
    return Check(text, True if good.all() else False if bad.any() else None, number)
