"""What pseudo-likelihood does a restricted Boltzmann machine reach on digits, by size, rate and passes?

Table 4 of the ANN & DL Report: 60,000 digits of 28 x 28 gray values in [0, 1] as probabilities. Which size, rate and
number of passes pay?

    log PL(v) ≈ V log P(v_i | the others) = V log σ(F(v with v_i flipped) - F(v)),      i drawn for each image

The one-bit proxy of the table, as the mean of four draws of i, the same for all machines of a seed. Training: PCD-1,
10 images and 10 chains per update, first weights N(0, 0.01²), digits in the order of their file: in a new order for
each pass, rates of 0.05 and 0.1 come out 3 and 6 nats better.

With ten units and visible biases that start at 0, most seeds learn the mean image and nothing else: pixels are dark on
average, so every hidden unit is first pulled into darkening them, and one that is on for every digit is a bias. Biases
that start at log(m_i / (1 - m_i)), m_i the mean of pixel i, avoid it. Informative units: P(h = 1 | v) has a standard
deviation above 0.05 over digits.
Reference: Hinton, A Practical Guide to Training Restricted Boltzmann Machines (2010), section 8.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...models import RestrictedBoltzmannMachine
from ...train import Training
from .. import Checks, Measured, Study, less, more, near
from .._digits import digits

TABLE = {  # units, rate -> printed pseudo-likelihoods after 10, 20 and 30 passes
    "10, 0.01": (-187.61,),
    "50, 0.01": (-98.75,),
    "100, 0.01": (-79.74, -76.54, -75.07),
    "100, 0.001": (-109.78,),
    "100, 0.05": (-87.49,),
    "100, 0.1": (-96.93,),
}
OTHERS = ("10, 0.001", "10, 0.05", "10, 0.1", "200, 0.01")
PRINTED = [value for values in TABLE.values() for value in values]


def train(seed: int, units: int, lr: float, data: str, passes: int, batch: int, means: bool = False) -> Iterator[Any]:
    """A machine after each ten passes."""
    x = digits(data).x
    options: dict[str, Any] = {"start_at_means": means, "training": Training(shuffle=False)}
    model = RestrictedBoltzmannMachine(n_hidden=units, lr=lr, batch_size=batch, random_state=seed, **options)
    for k in range(passes):
        model.partial_fit(x)
        if (k + 1) % min(10, passes) == 0:
            yield model


def table4(
    seed: int, machine: str, *, data: str = "mnist", passes: int = 30, batch: int = 10, draws: int = 4
) -> dict[str, Any]:
    """Pseudo-likelihood after 10, 20 and 30 passes (NaN where the table has none), and seconds per pass."""
    units, lr = machine.split(", ")
    x, found, seconds = digits(data).x, np.full(3, np.nan), np.full(3, np.nan)
    passes = min(passes, 10 * len(TABLE.get(machine, (0,))))
    for k, model in enumerate(train(seed, int(units), float(lr), data, passes, batch)):
        found[k] = np.mean([model.pseudo_likelihood(x, random_state=100 * seed + j).mean() for j in range(draws)])
        seconds[k] = model.history_[-1]["seconds"] / len(model.history_)
    return {"pseudo-likelihood (nats)": found, "seconds per pass": seconds}


def small(
    seed: int, start: str, *, data: str = "mnist", units: int = 10, passes: int = 10, batch: int = 10
) -> dict[str, Any]:
    """Pseudo-likelihood and informative units of the smallest machine."""
    (model,) = train(seed, units, 0.01, data, passes, batch, start == "means")
    x = digits(data).x
    score = model.pseudo_likelihood(x, random_state=seed).mean()
    return {"pseudo-likelihood (nats)": score, "informative units": (model.transform(x).std(0) > 0.05).sum()}


TINY = {"data": "digits", "batch": 50, "seeds": 2, "passes": 1}
table = Study(table4, {"machine": (*TABLE, *OTHERS)}, seeds=3, tiny=TINY, inner={"after": (10, 20, 30)})
starts = Study(small, {"start": ("zero", "means")}, seeds=12, tiny=TINY)


def after(m: Measured, machine: str, passes: int = 10) -> np.ndarray:
    """Pseudo-likelihoods: (seed,)."""
    return m.at("pseudo-likelihood (nats)", machine=machine, after=passes)


@table.claim("B127", says=PRINTED)
def rows(m: Measured) -> Checks:
    for machine, printed in list(TABLE.items())[1:]:
        for k, value in enumerate(printed):
            yield near(f"{machine}, {10 * k + 10} passes: {value}", after(m, machine, 10 * k + 10), value)


@starts.claim("B127", says=PRINTED)
def smallest(m: Measured) -> Checks:
    yield near("10, 0.01, 10 passes: -187.61", m.at("pseudo-likelihood (nats)", start="zero"), -187.61)


@table.claim("B128", says="more units improve the result, with signs of diminishing returns: -187.61, -98.75, -79.74")
def sizes(m: Measured) -> Checks:
    units = (10, 50, 100, 200)
    gain = np.diff([after(m, f"{n}, 0.01") for n in units], axis=0) / np.diff(units)[:, None]
    yield more("more units are better (nats per unit)", gain)
    yield less("each further unit adds less (nats per unit)", gain[1:], gain[:-1])


@table.claim("B129", says="a rate of 0.01 is appropriate for 100 units; for 10, about 0.1 is better")
def rates(m: Measured) -> Checks:
    for units, best in ((100, "0.01"), (10, "0.1")):
        for other in (rate for rate in ("0.001", "0.01", "0.05", "0.1") if rate != best):
            pair = after(m, f"{units}, {best}"), after(m, f"{units}, {other}")
            yield more(f"{units} units: {best} is better than {other} (nats)", *pair)
