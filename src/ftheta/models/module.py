"""Any PyTorch module with the life of an estimator.

    raw = module(x),   p(y | x) = likelihood(raw)

Shapes: x (B, ...), raw (B, R).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from typing import Any, ClassVar

import torch
from torch import nn

from ..check import Count
from ..data import InputSpec, TargetSpec
from ..errors import InputError
from ._supervised import NeuralClassifier, NeuralRegressor, NeuralSupervised

__all__ = ["ModuleClassifier", "ModuleRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class _Own(NeuralSupervised):
    """What both share: the user's module, copied or made anew."""

    module: nn.Module | Callable[[InputSpec, TargetSpec], nn.Module] | None = None
    epochs: Count = 200

    allow_nd: ClassVar[bool] = True
    refused: ClassVar[tuple[str, ...]] = ("module",)

    def _facts(self) -> dict[str, Any]:
        """Also the start: names, shapes and digest of the module's weights."""
        start = self.module.state_dict() if isinstance(self.module, nn.Module) else {}
        named = {k: [list(v.shape), sha256(v.cpu().numpy().tobytes()).hexdigest()] for k, v in start.items()}
        return {**super()._facts(), "module": named}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """A deep copy of the module, what the function makes, or one linear layer."""
        self.own_module_ = self.module is not None
        need = self.make_likelihood(y).n_raw(y)
        if self.module is None:
            return nn.Sequential(nn.Flatten(), nn.Linear(prod(x.shape), need))
        made = deepcopy(self.module) if isinstance(self.module, nn.Module) else self.module(x, y)
        if not isinstance(made, nn.Module):
            raise InputError(f"module= is a function that returned {type(made).__name__}; it must return an nn.Module.")
        width = _width(made, x)
        if width != need:
            raise InputError(
                f"module= gives {width} outputs a row, but {y.kind} targets need {need}. Change the last layer "
                f"to {need} outputs."
            )
        return made


def _width(module: nn.Module, x: InputSpec) -> int:
    """How many raw outputs a module gives, tried on two rows of zeros."""
    p = next(module.parameters(), torch.zeros(()))
    try:
        with torch.no_grad():
            raw = deepcopy(module).eval()(torch.zeros(2, *x.shape, dtype=p.dtype, device=p.device))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"module= cannot take rows of shape {x.shape}: {reason}. Check its first layer.") from error
    if not isinstance(raw, torch.Tensor) or raw.ndim != 2 or len(raw) != 2:
        shape = f"outputs of shape {tuple(raw.shape)}" if isinstance(raw, torch.Tensor) else f"a {type(raw).__name__}"
        raise InputError(f"module= gives {shape} for 2 rows; it must give (2, R): end it with a linear layer.")
    return raw.shape[-1]


@dataclass(kw_only=True, eq=False, repr=False)
class ModuleClassifier(_Own, NeuralClassifier):
    """Classify with your own PyTorch module; for two classes it may end in one output or in two.

    Args:
        module: An `nn.Module` (its weights are the start; it is never changed), a function (InputSpec, TargetSpec) ->
            Module (built anew by every fit), or None for one linear layer.

    Example:
        >>> import numpy as np
        >>> X, y = np.eye(3)[[0, 1, 2] * 5], ["a", "b", "c"] * 5
        >>> net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
        >>> ModuleClassifier(module=net, lr=0.05, random_state=0).fit(X, y).predict(X[:3])
        array(['a', 'b', 'c'], dtype='<U1')
    """

    def _learn_target(self, y: Any, n: int, classes: Any) -> TargetSpec:
        spec = super()._learn_target(y, n, classes)
        two = spec.kind == "binary" and isinstance(self.module, nn.Module) and _width(self.module, self.input_) == 2
        return TargetSpec("multiclass", 2) if two else spec


@dataclass(kw_only=True, eq=False, repr=False)
class ModuleRegressor(_Own, NeuralRegressor):
    """Predict numbers with your own PyTorch module.

    Args:
        module: An `nn.Module` (its weights are the start; it is never changed), a function (InputSpec, TargetSpec) ->
            Module (built anew by every fit), or None for one linear layer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = ModuleRegressor(module=nn.Linear(1, 1), epochs=200, lr=0.05, random_state=0).fit(X, 3 * X[:, 0])
        >>> bool(abs(model.predict([[2.0]])[0] - 6) < 1e-2)
        True
    """
