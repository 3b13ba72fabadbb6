"""Statistics: standard errors, tests and diagnostics of a fitted model that has them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..results import Result
from ._registry import explanation

__all__ = ["HasStatistics", "statistics"]


@runtime_checkable
class HasStatistics(Protocol):
    """a fitted model with n_features_in_ and summarize(X, y)"""

    n_features_in_: int

    def summarize(self, X: Any, y: Any) -> Result:
        """Its statistics on the rows that it was fitted to."""
        ...


@explanation("statistics", needs=HasStatistics, all_rows=True)
def statistics(obj: HasStatistics, X: Any, y: Any) -> Result:
    """Standard errors, tests and diagnostics of a model, from the rows that it was fitted to."""
    return obj.summarize(X, y)
