"""What is a trunk worth that was trained on other digits, where labels are few?

Question: a convolutional network learns the digits 0 to 4. Its convolutions then serve for the digits 5 to 9, of which
1, 5 or 20 of each are labelled: frozen under a new head, or trained on together with it, against a network that starts
from random weights. What is gained in accuracy?

    trunk (two convolutions, ReLU, max pooling) -> head (linear);      only the trunk is kept, the head starts anew

Shapes: S seeds (images, weights), L numbers of labels, 3 ways.

Reference: Yosinski et al., arXiv:1411.1792 (2014).
Cost: about 40 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...draw import Draw
from ...models import ConvNetClassifier
from ...nn import initialise
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, Verdict, give, pieces
from ._nets import above, points, shuffled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"C330": "confirmed"}
WAYS = ("from scratch", "frozen trunk", "fine-tuned")
TRUNK = ("conv1.*", "conv2.*")
OLD = 5  # digits below it are those of the trunk


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        labels: Labelled images of each new digit, ascending.
        filters: Maps of the convolutions.
        before: Passes over the old digits.
        epochs: Passes over the new ones.
        seeds: Draws of images and weights.
    """

    data: str = "digits"
    labels: tuple[int, ...] = (1, 5, 20)
    filters: tuple[int, int] = (16, 32)
    before: int = 15
    epochs: int = 60
    seeds: int = 5


TINY = Config(labels=(1, 2), filters=(2, 2), before=1, epochs=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Accuracies on new digits that were not labelled (S, L, 3); those of the trunk's network on old digits (S,)."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    kept = {key: np.array([one[key] for one in found]) for key in ("accuracy", "old")}
    return {**kept, "labels": list(config.labels)}


def _seed(config: Config, seed: int) -> Evidence:
    x, y = (part.numpy() for part in shuffled(config.data, seed))
    old = np.flatnonzero(y < OLD)
    new = [np.flatnonzero(y == digit) for digit in range(OLD, 10)]
    most = max(config.labels)
    test = np.concatenate([rows[most:] for rows in new])
    with TemporaryDirectory() as folder:
        start = str(Path(folder) / "trunk")
        kept = _pretrained(config, x[old], y[old], start, seed)
        found = [
            [
                _accuracy(config, x, y, np.concatenate([rows[:n] for rows in new]), test, way, start, seed)
                for way in WAYS
            ]
            for n in config.labels
        ]
    return {"accuracy": found, "old": kept}


def _model(config: Config, epochs: int, seed: int, start: str = "", freeze: tuple[str, ...] = ()) -> ConvNetClassifier:
    training = Training(schedule="cosine", freeze=freeze, threads=1)
    return ConvNetClassifier(
        filters=config.filters,
        padding="same",
        epochs=epochs,
        batch_size=25,
        lr=0.003,
        random_state=seed,
        start=start,
        training=training,
    )


def _pretrained(config: Config, x: np.ndarray, y: np.ndarray, folder: str, seed: int) -> float:
    """Learn the old digits, but for a fifth that says how well, and save the network with a head that knows nothing."""
    n = len(y) * 4 // 5
    model = _model(config, config.before, seed).fit(x[:n], y[:n])
    score = model.score(x[n:], y[n:])
    with Draw(seed).at("head").scope():
        initialise(model.module_.get_submodule("output"), "lecun")
    model.save(folder)
    return score


def _accuracy(
    config: Config, x: np.ndarray, y: np.ndarray, rows: np.ndarray, test: np.ndarray, way: str, start: str, seed: int
) -> float:
    freeze = TRUNK if way == "frozen trunk" else ()
    model = _model(config, config.epochs, 100 + seed, "" if way == "from scratch" else start, freeze)
    return model.fit(x[rows], y[rows]).score(x[test], y[test])


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """C330: with few labels either use of the trunk is better in every seed."""
    accuracy, labels = evidence["accuracy"], evidence["labels"]  # (S, L, 3)
    gain = accuracy[..., 1:] - accuracy[..., :1]  # (S, L, 2)
    few = gain[:, :-1]
    held = [above(v) for v in few.reshape(len(few), -1).T]
    verdict: Verdict = "confirmed" if all(held) else "not reproduced"
    if not all(held) and any(held):
        verdict = "corrected"
    if not any(held) and (few.mean(0) <= 0).all():
        verdict = "refuted"
    said = "; ".join(
        f"{n} of each: {give(100 * accuracy[:, i, 0], '.1f')} from scratch, "
        + ", ".join(f"{points(gain[:, i, k])} {WAYS[k + 1]}" for k in range(2))
        for i, n in enumerate(labels)
    )
    old = give(100 * evidence["old"], ".1f")
    why = f"Accuracy in % and gains in points, {said}. Where it comes from, the trunk reads {old} % of the digits."
    middle, spread = gain.mean(0).tolist(), gain.std(0, ddof=1).tolist()
    return [Finding("C330", "a gain in accuracy", middle, spread, verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Accuracies by labels and way."""
    columns = {"labels of each digit": evidence["labels"]} | {
        f"{way} (%)": [give(100 * v, ".1f") for v in evidence["accuracy"][..., k].T] for k, way in enumerate(WAYS)
    }
    return {"transfer": Table(columns, "Test accuracy: mean ± standard deviation over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Accuracy of every seed by way, a panel a number of labels."""
    found = {
        f"accuracy, {n} of each digit (%)": 100 * evidence["accuracy"][:, i] for i, n in enumerate(evidence["labels"])
    }
    drawn = plots.paired(found, [way.replace(" ", "\n") for way in WAYS], title="Digits 5 to 9 with a trunk of 0 to 4")
    return {"transfer": drawn}
