"""Settings of a first try: what a model is trained with where nothing is said, on the command line and in studies.

    Adam at 0.003, l2 = 0.001, at most 200 epochs, stopped after 40 without a better validation loss

They were chosen on the seventeen tables of the study `evidence/tables`, where a tenth of few labelled rows taught more
than it told: below 60 validation rows a classifier learns from all of them, for 100 epochs.
"""

from __future__ import annotations

from typing import Any

__all__ = ["L2", "settings", "validation_share"]

L2 = 1e-3
_SHARE, _LEAST = 0.1, 60


def validation_share(task: str, rows: int) -> float:
    """The share of rows that early stopping watches; none where there is no target to be wrong about.

    Example:
        >>> validation_share("classify", 1000), validation_share("classify", 100), validation_share("regress", 100)
        (0.1, 0.0, 0.1)
    """
    few = task == "classify" and rows * _SHARE < _LEAST
    return 0.0 if few or task in ("store", "density") else _SHARE


def settings(known: dict[str, Any], *, watched: bool, optimizer: str | None = None) -> dict[str, Any]:
    """Parameters for a first try, of those that an estimator knows.

    Args:
        known: Its parameters.
        watched: Whether there are validation rows.
        optimizer: Where another one is asked for, its own rate stands.
    """
    found: dict[str, Any] = {"epochs": 200, "patience": 40} if watched else {"epochs": 100}
    if optimizer in (None, "adam"):
        found["lr"] = 0.003
    return {name: value for name, value in found.items() if name in known}
