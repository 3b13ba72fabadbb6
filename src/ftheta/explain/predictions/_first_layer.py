"""A net behind its first layer: other cells in a column change the sums of a linear layer by one product.

    s = W x + b,      s' = s + W_j (x'_j - x_j)

Shapes: n rows, W columns, H units of the first layer; c columns that change.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from .._probe import calls, named, untouched

PART = 1024  # rows at once: their sums stay in the cache


class FirstLayer:
    """The sums of the first layer for some rows, and an estimator that predicts from sums."""

    def __init__(self, model: Any, layer: nn.Linear, x: torch.Tensor) -> None:
        self.layer, self.module, self.sums = layer, model.module_, layer(x)  # (n, H)
        self.estimator = copy(model)  # which is given parts of sums instead of rows
        self.estimator.raw = lambda parts: torch.cat([model.raw(part) for part in parts])
        self.estimator.apply = lambda f, parts: f(parts).cpu().numpy()

    @classmethod
    def of(cls, model: Any, values: np.ndarray) -> Self | None:
        """Of an estimator whose net begins with a linear layer and uses x nowhere else; None for others."""
        if not (hasattr(model, "module_") and hasattr(model, "raw") and hasattr(model, "apply")):
            return None
        like = next(model.module_.parameters())
        x = torch.as_tensor(values).to(like.device, like.dtype)
        with untouched(model.module_), torch.no_grad(), calls(model.module_) as seen:
            model.raw(x[:2])
            if not seen or type(layer := seen[0].layer) is not nn.Linear or not torch.equal(seen[0].inputs[0], x[:2]):
                return None
            found = cls(model, layer, x)
        try:  # the same predictions: nothing but the layer reads x
            ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
            ours = found.predict(ask, np.zeros((len(x), 1), values.dtype), [0])
            return found if np.allclose(ours, getattr(model, ask)(named(model, values)), rtol=1e-3, atol=1e-6) else None
        except (RuntimeError, TypeError, ValueError):
            return None

    def predict(self, ask: str, change: np.ndarray, columns: Sequence[int]) -> np.ndarray:
        """`predict` or `predict_proba` of all rows after a change of some columns: (n, c) -> (n, ...)."""
        training = [part for part in self.module.modules() if part.training]
        self.module.eval()
        self.layer.forward = lambda input: input
        try:
            with torch.no_grad():
                weight = self.layer.weight[:, columns].T.contiguous()
                moved = torch.as_tensor(change).to(weight.device, weight.dtype)
                sums = zip(self.sums.split(PART), moved.split(PART), strict=True)
                return getattr(self.estimator, ask)([torch.addmm(part, by, weight) for part, by in sums])
        finally:
            del self.layer.forward
            for part in training:
                part.training = True
