"""Of the use of a model: the threshold that follows from what errors cost, and rows that are there twice."""

from typing import Any

import numpy as np
import pandas as pd

from .. import measure
from ..errors import InputError
from ..tasks.base import Predictions


def loss_of(cost: str) -> list[list[float]]:
    """What each answer costs, a row per true class; `a:b` is the cost of a missed row of the second and a false one."""
    try:
        missed, false = (float(part) for part in cost.split(":"))
    except ValueError:
        raise InputError(f"--cost {cost}: expected two numbers, what a missed and a false row cost, as 10:1.") from None
    return [[0.0, false], [missed, 0.0]]


def threshold(y: Any, answers: Predictions, cost: str) -> measure.Threshold:
    """The cheapest threshold of two classes."""
    if answers.get("p") is None or len(answers["classes"]) != 2:
        raise InputError(f"--cost {cost} is for two classes with probabilities. Leave it out.")
    return measure.threshold(y, answers["p"][:, 1], loss=loss_of(cost), classes=list(answers["classes"]))


def repeated(own: Any, new: Any) -> int:
    """How many rows of the second array are rows of the first."""
    hashes = (
        pd.util.hash_pandas_object(pd.DataFrame(np.asarray(x).reshape(len(x), -1)), index=False)  # pyright: ignore[reportAttributeAccessIssue]
        for x in (own, new)
    )
    first, second = hashes
    return int(np.isin(second, first).sum())
