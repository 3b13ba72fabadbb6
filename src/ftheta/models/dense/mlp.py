"""Multi-layer perceptron: affine maps with an activation between them.

    h_{k+1} = a(β_k + Ω_k h_k),   h_0 = x,   raw = β_K + Ω_K h_K,      Ω_k: (D_{k+1}, D_k),  β_k: (D_{k+1},)

Shapes: B batch, D features, R raw outputs of the likelihood.
Reference: Rumelhart, Hinton and Williams, Learning representations by back-propagating errors, Nature 323 (1986).
"""

from collections.abc import Sequence
from typing import ClassVar

from ...check import Share, Widths
from ...data import InputSpec, TargetSpec
from ...nn import MLP
from ...selection import Range, Space
from .._base.neural import NeuralEstimator
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
