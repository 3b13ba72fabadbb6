"""Does a restricted Boltzmann machine fill in rows of digits that were removed, and for how many steps?

Question: 5 to 25 rows of a test digit are removed, from the top or from the bottom. After 1, 5 or 100 Gibbs steps, how
far are the missing pixels from the true ones, is the digit still read as what it is, and which digit is worst?

    clamped:  v_missing ~ p(v_missing | h), h ~ p(h | v), the known pixels stay;      free: all pixels are drawn anew
    error     root of the mean squared difference of the missing pixels, their probabilities against grey values
    read      share of the images that a network, trained on whole digits, reads as their class

Missing pixels start dark. Left dark, and filled with the mean of the training digits, they are what to beat.
Shapes: S seeds, W = 2 ways, E = 2 ends, K numbers of rows, T numbers of steps, 10 classes.

Cost: about 4 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch

from ... import plots
from ...draw import Draw
from ...models import RestrictedBoltzmannMachine
from ...models.energy.rbm_net import RBM
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ..energies._digits import digits, reader, sheet, some

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B133": "corrected"}
WAYS, ENDS = ("clamped", "free"), ("top", "bottom")
FEW, FAR = 15, 20  # rows up to which the report calls it good, and from which on not recoverable
HALF = (0.35, 0.65)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images; the report's are 28 rows high.
        units: Hidden units.
        epochs: Passes over the training images.
        rows: Numbers of rows removed, ascending, of 28.
        steps: Gibbs steps: few, some, many.
        each: Test images of each class.
        reading: Passes of the network that reads.
        seeds: Of machine and chains.
    """

    data: str = "mnist"
    units: int = 100
    epochs: int = 10
    rows: tuple[int, ...] = (5, 10, 15, 20, 25)
    steps: tuple[int, int, int] = (1, 5, 100)
    each: int = 80
    reading: int = 5
    seeds: int = 3


TINY = Config(data="digits", units=16, epochs=1, rows=(5, 15, 20), steps=(1, 2, 5), each=5, reading=1, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Errors (S, W, E, K, T, 10), shares read (S, W, E, K, T), and lost at last (S, W, E, K); pictures."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    evidence = {key: np.array([one[key] for one in found]) for key in ("error", "read", "lost")}
    plain = {key: found[0][key] for key in ("dark", "mean", "read dark", "whole", "pictures")}
    return {**evidence, **plain, "rows": list(config.rows), "steps": list(config.steps)}


def _seed(config: Config, seed: int) -> Evidence:
    data, read = digits(config.data), reader(config.data, config.reading)
    model = RestrictedBoltzmannMachine(n_hidden=config.units, epochs=config.epochs, lr=0.01, random_state=seed)
    machine = cast(RBM, model.fit(data.x).module_)
    chosen = some(data.answers, config.each)
    x, y = data.new[chosen], data.answers[chosen]
    first = some(y, 1)
    shape = len(WAYS), len(ENDS), len(config.rows), len(config.steps)
    found = {"error": np.empty((*shape, 10)), "right": np.empty((*shape, len(y)), dtype=bool)}
    pictures = np.empty((*shape, len(first), x.shape[1]), dtype=np.float32)
    for place in np.ndindex(shape):
        w, e, k, t = place
        missing = _missing(data.shape, config.rows[k], ENDS[e])
        draw = Draw(seed).at("steps", *place)
        made = filled(machine, x, missing, config.steps[t], clamped=WAYS[w] == "clamped", draw=draw)
        found["error"][place], found["right"][place] = _errors(made, x, y, missing), read.predict(made) == y
        pictures[place] = made[first]
    right = found["right"]
    lost = (right[..., 1, :] & ~right[..., 2, :]).sum(-1) / np.maximum(right[..., 1, :].sum(-1), 1)
    shown = {"pictures": pictures.reshape(*pictures.shape[:-1], *data.shape)}
    return {"error": found["error"], "read": right.mean(-1), "lost": lost} | shown | _unfilled(config, x, y)


def _missing(shape: tuple[int, int], rows: int, end: str) -> np.ndarray:
    """True where pixels are removed: (D,). Rows are of 28, others in proportion."""
    gone = np.zeros(shape, dtype=bool)
    n = round(rows * shape[0] / 28)
    gone[slice(n) if end == "top" else slice(shape[0] - n, None)] = True
    return gone.ravel()


def filled(machine: RBM, x: np.ndarray, missing: np.ndarray, steps: int, *, clamped: bool, draw: Draw) -> np.ndarray:
    """Images after Gibbs steps from dark missing pixels; what the last one draws is given as probabilities: (n, D)."""
    gone, generator = torch.from_numpy(missing), draw.generator()
    v = torch.from_numpy(np.where(missing, 0, x).astype(np.float32))
    with torch.no_grad():
        last = machine.gibbs(v, steps - 1, generator, clamp=~gone if clamped else None)
        mean = machine.visible_mean(machine.sample_hidden(last, generator))
    return torch.where(gone, mean, v).numpy() if clamped else mean.numpy()


def _errors(made: np.ndarray, x: np.ndarray, y: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Root mean squared error of the missing pixels, by class: (10,)."""
    squares = ((made - x)[:, missing] ** 2).mean(1)
    return np.array([np.sqrt(squares[y == digit].mean()) for digit in range(10)])


def _unfilled(config: Config, x: np.ndarray, y: np.ndarray) -> Evidence:
    """Missing pixels left dark, or filled with the mean of the training images: errors (E, K) and shares read."""
    read, mean = reader(config.data, config.reading), digits(config.data).x.mean(0)
    found = {name: np.empty((2, len(config.rows))) for name in ("dark", "mean", "read dark")}
    for e, k in np.ndindex(2, len(config.rows)):
        missing = _missing(digits(config.data).shape, config.rows[k], ENDS[e])
        for name, made in (("dark", np.where(missing, 0, x)), ("mean", np.where(missing, mean, x))):
            found[name][e, k] = _errors(made, x, y, missing).mean()
        found["read dark"][e, k] = (read.predict(np.where(missing, 0, x)) == y).mean()
    return {**found, "whole": float((read.predict(x) == y).mean())}


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B133: four parts of the claim; all of them confirm it, some correct it, none refutes it."""
    rows = np.array(evidence["rows"])
    few, read = rows <= FEW, evidence["read"].mean(0)[0]  # (E, K, T), clamped
    lost = {way: float(evidence["lost"][:, w][..., few].mean()) for w, way in enumerate(WAYS)}
    low, high = read[:, few, :2].min(), read[:, ~few].max()
    by_digit = evidence["error"].mean(0)[0, 1, few][:, :2].mean((0, 1))  # (10,): lower rows missing, few steps
    worst = int(by_digit.argmax())
    held = {
        f"more than half are read with up to {FEW} rows missing and few steps": low > 0.5,
        f"about half are lost at {evidence['steps'][2]} steps": any(HALF[0] <= v <= HALF[1] for v in lost.values()),
        f"fewer than half are read with {FAR} or more rows missing": high < 0.5,
        "digit 2 is worst where lower rows are missing": worst == 2,
    }
    verdict: Verdict = "confirmed" if all(held.values()) else "corrected" if any(held.values()) else "refuted"
    said = "; ".join(f"{claim}: {'yes' if holds else 'no'}" for claim, holds in held.items())
    why = (
        f"{said}. Read with up to {FEW} rows missing: at least {low:.2f}, with more: at most {high:.2f}, whole digits "
        f"{evidence['whole']:.2f}. Read after {evidence['steps'][1]} steps and no longer after {evidence['steps'][2]}: "
        f"{lost['clamped']:.2f} with clamped pixels, {lost['free']:.2f} without. Worst digit below: {worst}, with an "
        f"error of {by_digit[worst]:.3f} against {by_digit.mean():.3f} in the mean."
    )
    each = evidence["read"][:, 0].mean((1, 3))  # (S, K)
    printed = "good up to 15 rows with 1 to 5 steps, half diverge at 100, 20 and more not recoverable, digit 2 worst"
    return [Finding("B133", printed, each.mean(0).tolist(), each.std(0, ddof=1).tolist(), verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Errors and shares read by rows and end; errors by digit with the fewest to 15 lower rows missing."""
    cells = list(np.ndindex(2, len(evidence["rows"])))
    error = evidence["error"].mean(-1)  # (S, W, E, K, T)
    columns = {"end": [ENDS[e] for e, _ in cells], "rows": [evidence["rows"][k] for _, k in cells]}
    columns |= {
        "error dark": [evidence["dark"][c] for c in cells],
        "error of the mean": [evidence["mean"][c] for c in cells],
    }
    columns |= {"read dark (%)": [f"{100 * evidence['read dark'][c]:.1f}" for c in cells]}
    for w, way in enumerate(WAYS):
        for t, steps in enumerate(evidence["steps"]):
            columns[f"error {way}, {steps}"] = [give(error[:, w, e, k, t], ".3f") for e, k in cells]
            columns[f"read {way}, {steps} (%)"] = [give(100 * evidence["read"][:, w, e, k, t], ".1f") for e, k in cells]
    few = np.array(evidence["rows"]) <= FEW
    by_digit = evidence["error"][:, 0, :, few][..., :2, :].mean((0, 3))  # (S, E, 10)
    digit = {"digit": list(range(10))} | {
        f"{end} missing": by_digit[:, e].mean(0).tolist() for e, end in enumerate(ENDS)
    }
    return {
        "filled": Table(columns, "Root mean squared error of missing pixels, and digits read: mean ± sd over seeds"),
        "digits": Table(digit, f"Error by digit, clamped, up to {FEW} rows missing, few steps"),
    }


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Share read by rows missing and steps; a digit of each class, more lower rows missing from line to line."""
    read, rows = 100 * evidence["read"].mean(0), evidence["rows"]
    lines = {
        f"{end} missing, {way}": {
            f"{n} step{'s' * (n > 1)}": (rows, read[w, e, :, t]) for t, n in enumerate(evidence["steps"])
        }
        | {"left dark": (rows, 100 * evidence["read dark"][e])}
        for e, end in enumerate(ENDS)
        for w, way in enumerate(WAYS)
    }
    tiles = evidence["pictures"][0, 1]  # (K, T, 10, H, W): clamped, lower rows missing
    sheets = {
        f"{n} step{'s' * (n > 1)}": sheet(tiles[:, t].reshape(-1, *tiles.shape[3:]), columns=10)
        for t, n in enumerate(evidence["steps"])
    }
    return {
        "read": plots.panels(lines, x="rows removed, of 28", label="digits read right (%)"),
        "filled": plots.side_by_side(sheets),
    }
