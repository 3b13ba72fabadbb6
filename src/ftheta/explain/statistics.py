"""Statistics: standard errors, tests and diagnostics of a fitted model that has them."""

from __future__ import annotations

from typing import Any

from ..results import Result
from ._registry import explanation

__all__ = ["statistics"]


@explanation("statistics", all_rows=True)
def statistics(obj: Any, X: Any, y: Any) -> Result:
    """Standard errors, tests and diagnostics of a model, from the rows that it was fitted to."""
    return obj.summarize(X, y)
