"""What does a split do to a test result?

Question: how do an unshuffled, a random and a stratified half split divide 1000 rows that are sorted by class, and what
does a classifier score on the other half? And do the four parts of a data set overlap nowhere?

    random half of N rows, K of them in the class:  mean K/2, variance K/2 · (1 - K/N) · (N/2) / (N - 1)

Cost: about 2 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...data import holdout, make
from ...draw import Draw
from ...errors import InputError
from ...models import LogisticRegression
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A004": "confirmed", "B043": "confirmed"}
SPLITS = {"sorted": "chronological", "random": "random", "stratified": "stratified"}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        n: Rows, half of each class.
        seeds: Random splits in all; those of every hundredth seed are also learned from.
        surface: Samples of the surface of the five panels.
        bins: Equal bins of a number to stratify by.
    """

    n: int = 1000
    seeds: int = 2000
    surface: int = 600
    bins: int = 10


TINY = Config(n=200, seeds=40, surface=60)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Parts of rows sorted by class, what is learned from them, and the parts of a surface."""
    starts = range(0, config.seeds, 100)
    halves = pieces(_halves, [(config, start, min(start + 100, config.seeds)) for start in starts], run)
    return {key: np.concatenate([half[key] for half in halves]) for key in halves[0]} | {
        "n": config.n,
        "surface": _surface(config),
    }


def _halves(config: Config, start: int, stop: int) -> Evidence:
    """Rows of class 0 in either half, (seeds, 3, 2), distance of the bins, and what the first seed's fits score."""
    rows = make("two-gaussians", n=config.n, seed=start)
    order = np.argsort(rows.y, kind="stable")  # type: ignore[arg-type]
    x, y = rows.x.to_numpy()[order], np.asarray(rows.y)[order]
    number = np.digitize(x[:, 0], np.quantile(x[:, 0], np.arange(1, config.bins) / config.bins))
    draws = [Draw(seed).at("study") for seed in range(start, stop)]
    parts = [[holdout(config.n, 0.5, d, split=how, y=y) for how in SPLITS.values()] for d in draws]
    uneven = [
        [_uneven(holdout(config.n, 0.5, d, split=how, y=number), number) for how in SPLITS.values()] for d in draws
    ]
    return {
        "first": np.array([[[int((y[part] == 0).sum()) for part in pair] for pair in three] for three in parts]),
        "sizes": np.array([[[len(part) for part in pair] for pair in three] for three in parts]),
        "uneven": np.array(uneven),
        "hits": np.array([[_hits(x, y, pair) for pair in parts[0]]]),
    }


def _uneven(parts: tuple[np.ndarray, np.ndarray], number: np.ndarray) -> int:
    """Largest difference between both halves in the rows of one bin."""
    a, b = (np.bincount(number[part], minlength=number.max() + 1) for part in parts)
    return int(np.abs(a - b).max())


def _hits(x: np.ndarray, y: np.ndarray, parts: tuple[np.ndarray, np.ndarray]) -> int:
    """Right answers on the second half; a half of one class is refused, and leaves one answer only."""
    train, test = parts
    try:
        answer: Any = LogisticRegression().fit(x[train], y[train]).predict(x[test])
    except InputError:
        answer = y[train][0]
    return int((answer == y[test]).sum())


def _surface(config: Config) -> Evidence:
    """Samples of z = sin(πx₁) cos(πx₂), and the rows of the four parts."""
    at = np.random.default_rng(Draw(0).at("surface").key()).uniform(-1, 1, (config.surface, 2))
    train, test = holdout(config.surface, 0.3, Draw(0).at("test"))
    learn, valid = (train[part] for part in holdout(len(train), 0.2, Draw(0).at("validation")))
    z = np.sin(np.pi * at[:, 0]) * np.cos(np.pi * at[:, 1])
    return {"at": at, "z": z, "train": train, "learn": learn, "valid": valid, "test": test}


def judge(evidence: Evidence) -> list[Finding]:
    """A004: sorted rows cut in half fail, stratified halves are exact. B043: the parts are parts."""
    return [_sorted_rows(evidence), _parts(evidence["surface"])]


def _sorted_rows(evidence: Evidence) -> Finding:
    half, first, hits = evidence["n"] // 2, evidence["first"], evidence["hits"]  # (S, 3, 2) and (fits, 3)
    one_class = (first[:, 0] == [half, 0]).all()
    fails = bool(one_class and (hits[:, 0] == 0).all())
    exact = bool((first[:, 2] * 2 == half).all() and (evidence["sizes"] == half).all())
    theory, found = np.sqrt(half / 4 * half / (2 * half - 1)), first[:, 1, 1].std(ddof=1)
    random = abs(found / theory - 1) < 4 / np.sqrt(2 * len(first))  # four standard errors of a standard deviation
    shares = hits.mean(0) / half
    why = (
        f"Cut in half unshuffled, training has one class and {hits[:, 0].max()} of {half} test rows are right (our "
        f"classifiers refuse one class by name; the only answer left is wrong). Stratified halves hold "
        f"{first[:, 2].min()} to {first[:, 2].max()} of a class; random ones {first[:, 1, 1].mean():.1f} ± {found:.2f} "
        f"(theory {half / 2:.0f} ± {theory:.2f}). Test accuracy {shares[1]:.3f} random, {shares[2]:.3f} stratified. A "
        f"number stratified by its bins: halves differ by at most {evidence['uneven'][:, 2].max()} rows a bin, random "
        f"ones by {evidence['uneven'][:, 1].mean():.0f}."
    )
    verdict = "refuted" if not fails else "confirmed" if exact and random else "not reproduced"
    measured = [int(hits[:, 0].max()), float(first[:, 2].mean())]
    return Finding("A004", "0 of 500; 250 of each", measured, float(first[:, 2].std()), verdict, why)


def _parts(surface: Evidence) -> Finding:
    learn, valid, train, test = (set(surface[key].tolist()) for key in ("learn", "valid", "train", "test"))
    apart = not (learn & valid) and not (train & test)
    whole = learn | valid == train and train | test == set(range(len(surface["z"])))
    sizes = [len(surface["z"]), len(train), len(learn), len(valid), len(test)]
    why = f"Union and disjointness hold: {apart and whole}. The surface is ours: z = sin(πx₁) cos(πx₂) on [-1, 1]²."
    verdict = "confirmed" if apart and whole else "refuted"
    return Finding("B043", "2 = 3 ∪ 4; 2 ∩ 5 = ∅", sizes, None, verdict, why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The five panels, left to right."""
    s = evidence["surface"]
    names = {"all data": range(len(s["z"])), "training set": s["train"], "its training part": s["learn"]}
    names |= {"its validation part": s["valid"], "test set": s["test"]}
    panels = {name: (s["at"][list(rows)], s["z"][list(rows)]) for name, rows in names.items()}
    return {"parts": plots.points(panels, label="z = sin(πx₁) cos(πx₂)", title="Parts of a data set")}
