"""Recalled pictures: patterns, what noise makes of them, and the states some steps later.

    overlap(x, ξ) = x·ξ / (|x| |ξ|)        1: the pattern itself, -1: its mirror image

Shapes: S settings, n patterns, N units; pictures (H, W), or signals (L,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any, Literal

import numpy as np

from ... import check
from ...draw import Draw
from ...errors import InputError
from ...explain import explanation
from ...plots import Figure, patches
from ...results import Result
from ._memory import AssociativeMemory
from ._plane import NEAR, as_states, ends_of, has_plane, stored_in
from .rules import corrupt

__all__ = ["Recalled", "recall"]

SHOWN = 10  # patterns


@dataclass(frozen=True, eq=False)
class Recalled(Result):
    """Patterns before and after, setting by setting."""

    x: np.ndarray  # the patterns (n, N)
    noise: tuple[float, ...]  # of each setting (S,)
    steps: tuple[int, ...]  # of each setting (S,)
    noisy: np.ndarray  # with noise (S, n, N)
    after: np.ndarray  # after the steps (S, n, N)
    exact: np.ndarray  # whether the pattern came back in every unit (S, n)
    ended: np.ndarray  # the kind of each state after the steps: stored, near stored, mirror, other or moving (S, n)
    shape: tuple[int, ...]  # of a picture
    unit: str  # what the noise is measured in

    @property
    def overlap(self) -> np.ndarray:
        """With the pattern, before and after the steps (2, S, n)."""
        return np.stack([_overlap(self.noisy, self.x), _overlap(self.after, self.x)])

    def columns(self) -> dict[str, Any]:
        """One row per setting."""
        before, after = self.overlap.mean(-1)
        return {
            "noise": [self._text(v) for v in self.noise],
            "steps": self.steps,
            "overlap before": before,
            "overlap after": after,
            "came back": self.exact.mean(-1),
            **{f"in a {kind} state": (self.ended == kind).mean(-1) for kind in ("stored", "mirror")},
        }

    def figure(self) -> Figure:
        """The patterns on top; below them, setting by setting, with noise and after the steps."""
        lines, names = [self.x], ["pattern"]
        for k, (noise, steps) in enumerate(zip(self.noise, self.steps, strict=True)):
            lines += [self.noisy[k], self.after[k]]
            names += [f"noise {self._text(noise)}", f"{steps} step{'s' * (steps != 1)}"]
        tiles = np.stack(lines)[:, :SHOWN].reshape(len(lines), -1, 1, *self.shape)
        tiles = np.clip(tiles, -np.abs(self.x).max(), np.abs(self.x).max())
        return patches({"Patterns, with noise, and recalled": tiles}, [names], x="number of the pattern", y="")

    def _text(self, noise: float) -> str:
        return f"{noise:.3g}" if self.unit == "sd" else f"{100 * noise:.3g} %"

    @property
    def caption(self) -> str:
        """How many patterns came back."""
        counts = ", ".join(
            f"{int(e.sum())} after {s} step{'s' * (s != 1)} at {self._text(v)}"
            for e, s, v in zip(self.exact, self.steps, self.noise, strict=True)
        )
        kind = {"sd": "Gaussian noise", "flips": "flipped units", "replaced": "units replaced at random"}[self.unit]
        return f"{len(self.x)} patterns with {kind}; came back in every unit: {counts}."


def _overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return (a * b).sum(-1) / np.where(lengths > 0, lengths, 1.0)


@explanation("recall", needs=AssociativeMemory, when=has_plane)
def recall(
    net: AssociativeMemory,
    X: Any = None,
    *,
    noise: Sequence[float] = (0.2, 0.4, 0.4, 0.5),
    steps: Sequence[int] = (1, 1, 25, 50),
    noise_kind: Literal["flip", "replace", "gaussian"] = "flip",
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> Recalled:
    """Patterns, what noise makes of them, and the states some steps later.

    Args:
        net: A fitted memory.
        X: Patterns (n, N) or (n, H, W); None: the stored ones. Ten at most, evenly spaced.
        noise: Of each setting: share of the units, or a standard deviation.
        steps: Of each setting.
        noise_kind: "flip": units change sign; "replace": units are drawn anew; "gaussian": numbers are added.
        shape: Of a picture; None: that of X, a square where N is one, else a strip.
        random_state: Seed of the noise; settings with equal noise get the same.
    """
    stored = stored_in(net, "recall")
    rows = stored if X is None else np.array(check.plain(X), dtype=float)
    if rows.ndim < 2 or not len(rows) or prod(rows.shape[1:]) != stored.shape[1]:
        raise InputError(f"X has shape {rows.shape}; recall needs rows of the {stored.shape[1]} units of the memory.")
    if not noise or len(noise) != len(steps):
        raise InputError(f"noise={noise} and steps={steps}; one number of steps for each noise is needed.")
    places = _shape(rows.shape[1:] if shape is None else tuple(shape), stored.shape[1])
    x = rows.reshape(len(rows), -1)[:: -(-len(rows) // SHOWN)]
    seed = Draw(random_state).at("noise").key()
    noisy = np.stack([corrupt(x, v, kind=noise_kind, rng=seed) for v in noise])
    after = np.stack([net.recall(as_states(net, v), steps=t) for v, t in zip(noisy, steps, strict=True)])
    ends = [ends_of(net, v) for v in after]
    return Recalled(
        x=x,
        noise=tuple(map(float, noise)),
        steps=tuple(map(int, steps)),
        noisy=noisy,
        after=after,
        exact=np.abs(after - x).max(-1) <= NEAR * np.abs(stored).max(),
        ended=np.stack([np.array(found.kinds)[found.code] for found in ends]),
        shape=places,
        unit={"flip": "flips", "replace": "replaced", "gaussian": "sd"}[noise_kind],
    )


def _shape(given: tuple[int, ...], n: int) -> tuple[int, ...]:
    """(H, W) or (L,) of n units."""
    if prod(given) != n:
        raise InputError(f"shape={given} has {prod(given)} places; a pattern has {n} units.")
    places = given[1:] if len(given) == 3 and given[0] == 1 else given
    if len(places) == 1 and isqrt(n) ** 2 == n and n > 9:
        return isqrt(n), isqrt(n)
    return places if len(places) <= 2 else (n,)
