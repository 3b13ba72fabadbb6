"""Dense nets: the multi-layer perceptron, affine maps with an activation between them, and any module of the user's.

    h_{k+1} = a(β_k + Ω_k h_k),   h_0 = x,   raw = β_K + Ω_K h_K,      Ω_k: (D_{k+1}, D_k),  β_k: (D_{k+1},)
    raw = module(x),   p(y | x) = likelihood(raw)

Shapes: B batch, D features, R raw outputs of the likelihood; x of a module (B, ...), raw (B, R).
Reference: Rumelhart, Hinton and Williams, Learning representations by back-propagating errors, Nature 323 (1986).
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import sha256
from math import prod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ...check import Count, Share, Widths
from ...data import InputSpec, Source, TargetSpec
from ...data.kinds import Table
from ...draw import Draw
from ...errors import InputError
from ...nn import MLP
from ...selection import Range, Space
from ...store import Tree
from ...tasks import Classify, Regress
from .._base.neural import NeuralEstimator
from .._base.rows import Data
from .._base.supervised import NeuralClassifier, NeuralRegressor


class _Perceptron(NeuralEstimator):
    """What both share: the parameters of the net, and the net.

    Args:
        hidden: Widths of the hidden layers.
        activation: Name of the activation, or one name for each hidden layer.
        dropout: Share of hidden units silenced in training; one for all hidden layers, or one for each.
        init: How weights start: auto, zeros, normal, lecun, glorot, he.
    """

    hidden: Widths = (100,)
    activation: str | Sequence[str] = "relu"
    dropout: Share | tuple[Share, ...] = 0.0
    init: str = "auto"

    space: ClassVar[Space] = {
        "hidden": [(32,), (100,), (200,), (64, 64), (128, 128)],
        "lr": Range(3e-4, 3e-2, log=True),
        "dropout": Range(0.0, 0.5),
        "training.l2": Range(1e-6, 0.1, log=True),
    }

    def build(self, x: InputSpec, y: TargetSpec) -> MLP:
        raw = self.task().likelihood(y).n_raw(y)  # type: ignore[union-attr]
        own = {"activation": self.activation, "dropout": self.dropout, "init": self.init}
        return MLP(x.shape[0], raw, tuple(self.hidden), **own)


class MLPClassifier(_Perceptron, NeuralClassifier):
    """Classify rows with a multi-layer perceptron: two classes, several classes, or several labels.

    Example:
        >>> import numpy as np
        >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
        >>> xor = MLPClassifier(hidden=(16,), activation="tanh", epochs=300, lr=0.05, random_state=0)
        >>> xor.fit(X, [0, 1, 1, 0]).predict(X)
        array([0, 1, 1, 0])
    """


class MLPRegressor(_Perceptron, NeuralRegressor):
    """Predict numbers with a multi-layer perceptron, under any likelihood and for one or several targets.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> line = MLPRegressor(hidden=(), epochs=200, lr=0.05, random_state=0).fit(X, 2 * X[:, 0] + 1)
        >>> bool(abs(line.predict([[3.0]])[0] - 7) < 1e-2)
        True
    """


class _Own(NeuralEstimator):
    """What both share: the user's module, copied or made anew.

    Args:
        module: An `nn.Module` (its weights are the start; it is never changed), a function (InputSpec, TargetSpec) ->
            Module (built anew by every fit), or None for one linear layer.
    """

    module: nn.Module | Callable[[InputSpec, TargetSpec], nn.Module] | None = None
    epochs: Count = 200

    refused: ClassVar[tuple[str, ...]] = ("module",)

    def kind(self) -> Table:
        """Rows of any shape; integers stay integers for an embedding, bytes of images become [0, 1]."""
        return Table(self.dtype, axes=True, integers=True)

    def source(self, data: Data, batch_size: int, *, shuffle: bool = False) -> Source:
        """Batches; integers become floats where the module has no embedding."""
        x: Any = data.x
        if x.values.dtype == np.int64 and not _embeds(self.module_):
            data = data._replace(x=replace(x, values=x.values.astype(self.dtype)))
        return super().source(data, batch_size, shuffle=shuffle)

    def started_from(self) -> Mapping[str, Tree]:
        """The module's weights at the start: names, shapes and digests."""
        start = self.module.state_dict() if isinstance(self.module, nn.Module) else {}
        start = {k: v for k, v in start.items() if not is_lazy(v)}
        return {"module": {k: [list(v.shape), sha256(v.cpu().numpy().tobytes()).hexdigest()] for k, v in start.items()}}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """A deep copy of the module, what the function makes, or one linear layer."""
        self.own_module_ = self.module is not None
        need = self.task().likelihood(y).n_raw(y)  # type: ignore[union-attr]
        if self.module is None:
            return nn.Sequential(nn.Flatten(), nn.Linear(prod(x.shape), need))
        made = deepcopy(self.module) if isinstance(self.module, nn.Module) else self.module(x, y)
        if not isinstance(made, nn.Module):
            raise InputError(f"module= is a function that returned {type(made).__name__}; it must return an nn.Module.")
        if any(map(is_lazy, made.parameters())):
            _outputs(made, x)  # lazy layers learn their widths
        width = _width(made, x)
        if width != need:
            advice = f"Change the last layer to {need} outputs."
            raise InputError(f"module= gives {width} outputs per row, but {y.kind} targets need {need}. {advice}")
        return made


def _embeds(module: nn.Module) -> bool:
    return any(isinstance(layer, nn.Embedding | nn.EmbeddingBag) for layer in module.modules())


def _outputs(module: nn.Module, x: InputSpec) -> Any:
    """What a module gives for two rows of zeros, in evaluation mode."""
    p = next(module.parameters(), torch.zeros(()))
    dtype = torch.int64 if _embeds(module) else torch.float32 if is_lazy(p) else p.dtype
    training = module.training
    try:
        with torch.no_grad():
            return module.eval()(torch.zeros(2, *x.shape, dtype=dtype, device=p.device))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"module= cannot take rows of shape {x.shape}: {reason}. Check its first layer.") from error
    finally:
        module.train(training)


def _width(module: nn.Module, x: InputSpec) -> int:
    """How many raw outputs a module gives."""
    raw = _outputs(deepcopy(module), x)
    if not isinstance(raw, torch.Tensor) or raw.ndim != 2 or len(raw) != 2:
        shape = f"outputs of shape {tuple(raw.shape)}" if isinstance(raw, torch.Tensor) else f"a {type(raw).__name__}"
        raise InputError(f"module= gives {shape} for 2 rows; it must give (2, R): end it with a linear layer.")
    return raw.shape[-1]


@dataclass(frozen=True)
class _ClassifyAs(Classify):
    """Two classes as two outputs, where the module has two."""

    module: Any = None
    input: InputSpec | None = None

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        spec = super().learn(owner, y, n, weight, classes)
        if spec.kind != "binary" or self.module is None or self.input is None:
            return spec
        with Draw(0).scope():
            made = self.module if isinstance(self.module, nn.Module) else self.module(self.input, spec)
        return spec._replace(kind="multiclass") if _width(made, self.input) == 2 else spec


class ModuleClassifier(_Own, NeuralClassifier):
    """Classify with your own PyTorch module; for two classes it may end in one output or in two.

    Example:
        >>> import numpy as np
        >>> X, y = np.eye(3)[[0, 1, 2] * 5], ["a", "b", "c"] * 5
        >>> net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
        >>> ModuleClassifier(module=net, lr=0.05, random_state=0).fit(X, y).predict(X[:3])
        array(['a', 'b', 'c'], dtype='<U1')
    """

    def task(self) -> Classify:
        return _ClassifyAs(self.class_weight, self.dtype, self.module, getattr(self, "input_", None))


class ModuleRegressor(_Own, NeuralRegressor):
    """Predict numbers with your own PyTorch module, whose outputs are in the units of y.

    Args:
        scale_y: Whether y is standardized inside; a module that starts from random weights then learns faster.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> model = ModuleRegressor(module=nn.Linear(1, 1), epochs=200, lr=0.05, random_state=0).fit(X, 3 * X[:, 0])
        >>> bool(abs(model.predict([[2.0]])[0] - 6) < 1e-2)
        True
    """

    scale_y: bool = False

    def task(self) -> Regress:
        return Regress(self.likelihood, self.dtype, standardize=self.scale_y)
