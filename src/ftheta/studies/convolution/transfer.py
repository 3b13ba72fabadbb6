"""What is a trunk worth that was trained on other digits, where labels are few?

Question: a convolutional network learns the digits 0 to 4. All but its last layer then serves for the digits 5 to 9, of
which 1, 5 or 20 of each are labelled: frozen under a new head, or trained on together with it, against a network that
starts from random weights. What is gained in accuracy, where digits are in the middle of the image, and where all of
them are at random places in a rim of three dark pixels?

    trunk (two convolutions with max pooling, a dense layer) -> head (linear);      the head always starts anew

Every network for the new digits has as many updates, whatever the number of labels.
Shapes: P = 2 placements, S seeds (images, weights), L numbers of labels, 3 ways.

Reference: Yosinski et al., arXiv:1411.1792 (2014).
Cost: about 80 CPU-seconds.
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

CLAIMS = {"C330": "corrected"}
PLACES = ("in the middle", "at random places")
WAYS = ("from scratch", "frozen trunk", "fine-tuned")
TRUNK = ("conv1.*", "conv2.*", "dense1.*")
BATCH = 25
OLD = 5  # digits below it are those of the trunk


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        labels: Labelled images of each new digit, ascending.
        filters: Maps of the convolutions.
        hidden: Units of the dense layer.
        rim: Dark pixels around digits at random places.
        before: Passes over the old digits.
        updates: Of each network for the new ones.
        seeds: Draws of images and weights.
    """

    data: str = "digits"
    labels: tuple[int, ...] = (1, 5, 20)
    filters: tuple[int, int] = (16, 32)
    hidden: int = 64
    rim: int = 3
    before: int = 20
    updates: int = 300
    seeds: int = 5


TINY = Config(labels=(1, 2), filters=(2, 2), hidden=4, before=1, updates=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Accuracies on new digits that were not labelled (P, S, L, 3), and on old ones of the net before (P, S)."""
    found = pieces(_one, [(config, place, seed) for place in range(2) for seed in range(config.seeds)], run)
    kept = {key: np.array([one[key] for one in found]) for key in ("accuracy", "old")}
    return {key: v.reshape(2, config.seeds, *v.shape[1:]) for key, v in kept.items()} | {"labels": list(config.labels)}


def _one(config: Config, place: int, seed: int) -> Evidence:
    rim = config.rim if place else 0
    x, y = (part.numpy() for part in shuffled(config.data, seed, rim=rim, moved=bool(place)))
    new = [np.flatnonzero(y == digit) for digit in range(OLD, 10)]
    test = np.concatenate([rows[max(config.labels) :] for rows in new])
    with TemporaryDirectory() as folder:
        start = str(Path(folder) / "trunk")
        old = _pretrained(config, x[y < OLD], y[y < OLD], start, seed)
        found = []
        for n in config.labels:
            rows = np.concatenate([digit[:n] for digit in new])
            models = [_learned(config, x[rows], y[rows], way, start, seed) for way in WAYS]
            found.append([model.score(x[test], y[test]) for model in models])
    return {"accuracy": found, "old": old}


def _model(config: Config, epochs: int, seed: int, start: str = "", freeze: tuple[str, ...] = ()) -> ConvNetClassifier:
    training = Training(schedule="cosine", freeze=freeze, threads=1)
    return ConvNetClassifier(
        filters=config.filters,
        padding="same",
        hidden=(config.hidden,),
        epochs=epochs,
        batch_size=BATCH,
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
    model.save(folder, overwrite=True)
    return score


def _learned(config: Config, x: np.ndarray, y: np.ndarray, way: str, start: str, seed: int) -> ConvNetClassifier:
    epochs = -(-config.updates // -(-len(y) // BATCH))
    freeze = TRUNK if way == "frozen trunk" else ()
    return _model(config, epochs, 100 + seed, "" if way == "from scratch" else start, freeze).fit(x, y)


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """C330: either use of the trunk is better, at either placement, in the mean over numbers of labels."""
    accuracy = evidence["accuracy"]  # (P, S, L, 3)
    gain = accuracy[..., 1:] - accuracy[..., :1]  # (P, S, L, 2)
    whole = gain.mean(2)  # (P, S, 2)
    held = {f"{WAYS[k + 1]}, {place}": above(whole[p, :, k]) for p, place in enumerate(PLACES) for k in range(2)}
    verdict: Verdict = "confirmed" if all(held.values()) else "corrected" if any(held.values()) else "not reproduced"
    if (whole.mean(1) <= 0).all():
        verdict = "refuted"
    said = "; ".join(
        f"{place}, {n} of each: {give(100 * accuracy[p, :, i, 0], '.1f')} from scratch, "
        + ", ".join(f"{points(gain[p, :, i, k])} {WAYS[k + 1]}" for k in range(2))
        for p, place in enumerate(PLACES)
        for i, n in enumerate(evidence["labels"])
    )
    sure = "; ".join(f"{name}: {'yes' if holds else 'no'}" for name, holds in held.items())
    why = f"Accuracy in % and gains in points, {said}. A sure gain over all numbers of labels, {sure}."
    middle, spread = gain.mean(1).tolist(), gain.std(1, ddof=1).tolist()
    return [Finding("C330", "a gain in accuracy", middle, spread, verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Accuracies by placement, labels and way."""
    cells = [(p, i) for p in range(len(PLACES)) for i in range(len(evidence["labels"]))]
    columns = {
        "digits": [PLACES[p] for p, _ in cells],
        "labels of each": [evidence["labels"][i] for _, i in cells],
        "old digits before (%)": [give(100 * evidence["old"][p], ".1f") for p, _ in cells],
    } | {
        f"{way} (%)": [give(100 * evidence["accuracy"][p, :, i, k], ".1f") for p, i in cells]
        for k, way in enumerate(WAYS)
    }
    return {"transfer": Table(columns, "Test accuracy: mean ± standard deviation over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Accuracy of every seed by way, a panel a placement and number of labels."""
    found = {
        f"accuracy (%), {n} of each\n{place}": 100 * evidence["accuracy"][p, :, i]
        for p, place in enumerate(PLACES)
        for i, n in enumerate(evidence["labels"])
    }
    names = [way.replace(" ", "\n") for way in WAYS]
    return {"transfer": plots.paired(found, names, title="Digits 5 to 9 with a trunk of the digits 0 to 4")}
