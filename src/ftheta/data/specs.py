"""What an estimator learns about X and about y: two plain values, saved with the model.

A saved model is rebuilt from them, so they hold arrays and JSON values only.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class InputSpec(NamedTuple):
    """What a net is built for: the shape of one row, and what else was learned from X."""

    shape: tuple[int, ...]  # without the batch axis
    facts: Mapping[str, Any] = {}  # a vocabulary, a mean and a scale, the name of an environment


class TargetSpec(NamedTuple):
    """What is predicted, and what was learned from y."""

    kind: str  # binary, multiclass, multilabel, regression, segment, tag, detect, forecast or none
    n: int = 1  # number of classes, labels or columns; 2 for binary
    facts: Mapping[str, Any] = {}  # classes, weights of the classes, mean and scale of y
