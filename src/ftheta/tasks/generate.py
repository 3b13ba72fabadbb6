"""Generate: new rows that look like those of X. Learns from X alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .base import LEVEL, Predictions, Task, Values


@dataclass(frozen=True)
class Generate(Task):
    """Samples and densities; how good a model is, its method `assess` tells."""

    name: ClassVar[str] = "generate"
    title: ClassVar[str] = "model of how the rows are distributed"
    wait: ClassVar[str] = "Looking at the test rows; the sum over all states may take a minute."

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        """Measures of the model's own, with intervals of two standard errors."""
        if not hasattr(model, "assess"):
            return super().score(y, predictions, model=model, X=X, seed=seed)
        table = model.assess(X).columns
        values = dict(zip(table["measure"], map(float, table["value"]), strict=True))
        errors = dict(zip(table["measure"], table["error"], strict=True))
        known = {name: error for name, error in errors.items() if error not in (None, "none")}
        ends = {m: [v - 1.96 * known[m], v + 1.96 * known[m]] if m in known else None for m, v in values.items()}
        method = {name: "none" if end is None else "standard error" for name, end in ends.items()}
        return {"scores": values, "level": LEVEL, "intervals": ends, "method": method}
