"""Does a restricted Boltzmann machine restore rows of digits that were removed, and for how many steps?

5 to 25 rows of a test digit are removed, from the top or from the bottom. After 1, 5 or 100 Gibbs steps, how far are
the missing pixels from the true ones, is the digit still classified correctly, and which digit is worst?

    clamped:    v_missing ~ p(v_missing | h), h ~ p(h | v), the known pixels stay;      free: all pixels are drawn anew
    error       root of the mean squared difference of the missing pixels, their probabilities against gray values
    recognized  share of the images that a network, trained on complete digits, assigns to their class
    lost        share of the images recognized after 5 steps that are not after other numbers of steps
"""

from typing import Any, cast

import numpy as np
import torch

from ...draw import Draw
from ...models import RestrictedBoltzmannMachine
from ...models.energy.rbm_net import RBM
from .. import Checks, Measured, Study, less, more, same
from .._digits import classifier, digits, first_per_class

METHODS, ENDS, ROWS, STEPS = ("clamped", "free"), ("top", "bottom"), (5, 10, 15, 20, 25), (1, 5, 100)
FEW = 3  # how many of ROWS are at most 15


def removed(shape: tuple[int, int], rows: int, end: str) -> np.ndarray:
    """True where pixels are removed: (D,). Rows are of 28, others in proportion."""
    gone = np.zeros(shape, dtype=bool)
    n = round(rows * shape[0] / 28)
    gone[slice(n) if end == "top" else slice(shape[0] - n, None)] = True
    return gone.ravel()


def restored(machine: RBM, x: np.ndarray, missing: np.ndarray, steps: int, method: str, draw: Draw) -> np.ndarray:
    """Images after Gibbs steps from dark missing pixels; the last step gives probabilities: (n, D)."""
    gone, generator, clamped = torch.from_numpy(missing), draw.generator(), method == "clamped"
    v = torch.from_numpy(np.where(missing, 0, x).astype(np.float32))
    with torch.no_grad():
        last = machine.gibbs(v, steps - 1, generator, clamp=~gone if clamped else None)
        mean = machine.visible_mean(machine.sample_hidden(last, generator))
    return torch.where(gone, mean, v).numpy() if clamped else mean.numpy()


def errors(made: np.ndarray, x: np.ndarray, y: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Root mean squared error of the missing pixels, by class: (10,)."""
    squares = ((made - x)[:, missing] ** 2).mean(1)
    return np.array([np.sqrt(squares[y == digit].mean()) for digit in range(10)])


def measure(
    seed: int, *, data: str = "mnist", train: int = 60_000, units: int = 100, epochs: int = 10, each: int = 40
) -> dict[str, Any]:
    """Errors, shares recognized and lost, by method, end, rows and steps; restored images of each class."""
    images, network = digits(data), classifier(data, train, epochs=5)
    model = RestrictedBoltzmannMachine(n_hidden=units, epochs=epochs, lr=0.01, random_state=seed)
    machine = cast(RBM, model.fit(images.x[:train]).module_)
    chosen = first_per_class(images.y_test, each)
    x, y = images.x_test[chosen], images.y_test[chosen]
    shape = len(METHODS), len(ENDS), len(ROWS), len(STEPS)
    error, right = np.empty((*shape, 10)), np.empty((*shape, len(y)), dtype=bool)
    shown = np.empty((*shape, 10, *images.shape), dtype=np.float32)
    for place in np.ndindex(shape):
        method, end, rows, steps = (axis[i] for axis, i in zip((METHODS, ENDS, ROWS, STEPS), place, strict=True))
        missing = removed(images.shape, rows, end)
        made = restored(machine, x, missing, steps, method, Draw(seed).at("steps", *place))
        error[place], right[place] = errors(made, x, y, missing), network.predict(made) == y
        shown[place] = made[first_per_class(y, 1)].reshape(-1, *images.shape)
    before = right[..., 1:2, :]
    lost = (before & ~right).sum(-1) / np.maximum(before.sum(-1), 1)
    kept = {"recognized": right.mean(-1), "lost": lost, "error": error.mean(-1), "error by digit": error}
    return {**kept, "images": shown}


TINY = {"seeds": 2, "data": "digits", "units": 16, "epochs": 1, "each": 5}
study = Study(measure, {}, seeds=5, tiny=TINY, inner={"method": METHODS, "end": ENDS, "rows": ROWS, "steps": STEPS})


@study.claim(
    "B133",
    says="quite good up to 15 rows with 1 to 5 steps; close to half diverge at 100; not with 20 rows or more removed; "
    "a 2 is most difficult if the lower rows are removed",
)
def recovery(m: Measured) -> Checks:
    share = m["recognized"][0]  # (end, rows, steps, seed), clamped
    yield more("with up to 15 rows missing more than half are recognized after 1 and 5 steps", share[:, :FEW, :2], 0.5)
    lost = m["lost"][:, :, :FEW, 2].mean((1, 2))  # (method, seed)
    k = int(np.abs(lost.mean(-1) - 0.5).argmin())  # the source does not say which
    yield same(f"about half are lost after 100 steps, {METHODS[k]}", lost[k], 0.5, within=0.15)
    yield less("with 20 rows or more missing fewer than half are recognized", share[:, FEW:], 0.5)
    two = m["error by digit"][0, :, :FEW, :2, :, 2].mean((1, 2))  # (end, seed)
    yield more("the error of a 2 is larger without its lower rows than without its upper ones", two[1], two[0])
