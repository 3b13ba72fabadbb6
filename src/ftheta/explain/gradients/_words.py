"""Formulas of known layers, operations and losses, shown beside their numbers; the numbers come from autograd.

name of a class, or of a torch function -> what it computes, what it passes back, the gradients of its parameters
"""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from ...likelihoods import Bernoulli, Categorical, Gaussian
from .._point import absolute, half_square, square, usual

Words = tuple[str, str, str]
UNKNOWN: Words = ("y = f(x)", "δ_x = (∂f/∂x)ᵀ δ", "")

ACTIVATIONS = {  # φ(z), φ'(z)
    "Identity": ("z", "1"),
    "ReLU": ("max(0, z)", "[z > 0]"),
    "LeakyReLU": ("max(c z, z)", "1 or c"),
    "ELU": ("z or c (exp(z) - 1)", "1 or c exp(z)"),
    "CELU": ("z or c (exp(z / c) - 1)", "1 or exp(z / c)"),
    "SELU": ("λ z or λ c (exp(z) - 1)", "λ or λ c exp(z)"),
    "GELU": ("z Φ(z)", "Φ(z) + z φ(z)"),
    "SiLU": ("z σ(z)", "σ(z) (1 + z (1 - σ(z)))"),
    "Mish": ("z tanh(softplus(z))", "tanh(s) + z (1 - tanh(s)²) σ(z)"),
    "Softplus": ("log(1 + exp(z))", "σ(z)"),
    "Sigmoid": ("σ(z)", "a (1 - a)"),
    "Tanh": ("tanh(z)", "1 - a²"),
    "Softsign": ("z / (1 + |z|)", "1 / (1 + |z|)²"),
    "LogSigmoid": ("log σ(z)", "1 - σ(z)"),
    "Hardtanh": ("z cut to [m, M]", "[m < z < M]"),
    "ReLU6": ("z cut to [0, 6]", "[0 < z < 6]"),
    "Hardsigmoid": ("z / 6 + 1/2 cut to [0, 1]", "[|z| < 3] / 6"),
    "Sin": ("sin(z)", "cos(z)"),
    "cos": ("cos z", "-sin z"),
    "Bump": ("exp(-z²)", "-2 z a"),
    "Sign": ("sign(z)", "0"),
    "Step": ("[z > 0]", "0"),
    "exp": ("exp(z)", "a"),
    "log": ("log z", "1 / z"),
    "sqrt": ("√z", "1 / (2 a)"),
    "square": ("z²", "2 z"),
    "abs": ("|z|", "sign z"),
    "neg": ("-z", "-1"),
    "HybridOutput": ("z", "σ'(z), which is not the derivative of z"),
}
_DENSE = ("z = W h + b", "δ_h = Wᵀ δ", "∂ℓ/∂W = δ hᵀ, ∂ℓ/∂b = δ")
_CONV = (
    "z[i] = Σ_k W_k x[i S + k D] + b",
    "δ_x[i S + k D] += W_kᵀ δ[i]",
    "∂ℓ/∂W_k = Σ_i δ[i] x[i S + k D]ᵀ, ∂ℓ/∂b = Σ_i δ[i]",
)
_NORM = (
    "x̂ = (x - μ) / s, y = γ x̂ + β",
    "δ_x = (δ̂ - mean δ̂ - x̂ mean(δ̂ ⊙ x̂)) / s, δ̂ = γ ⊙ δ",
    "∂ℓ/∂γ = Σ δ ⊙ x̂, ∂ℓ/∂β = Σ δ",
)
_TIME = (
    "δ_{h,t-1} = W_hhᵀ δ_{u,t} + direct, δ_{x,t} = W_ihᵀ δ_{a,t}",
    "∂ℓ/∂W_ih = Σ_t δ_{a,t} x_tᵀ, ∂ℓ/∂W_hh = Σ_t δ_{u,t} h_{t-1}ᵀ",
)
_MOVE = ("the same numbers at other places", "δ_x = δ at the places they came from", "")
_MOVES = (
    "Flatten Unflatten PixelShuffle PixelUnshuffle Subsample unbind view reshape flatten squeeze unsqueeze permute "
    "transpose getitem cat stack split chunk expand contiguous clone mT T"
)
_NAMED: dict[str, Words] = {
    **{name: (f"a = {f}", f"δ_z = φ'(z) ⊙ δ, φ' = {df}", "") for name, (f, df) in ACTIVATIONS.items()},
    **dict.fromkeys(("Linear", "linear"), _DENSE),
    "Embedding": ("z = W[token]", "", "∂ℓ/∂W[token] += δ"),
    "PReLU": ("a = max(0, z) + c min(0, z)", "δ_z = δ or c δ", "∂ℓ/∂c = Σ δ ⊙ min(0, z)"),
    "Softmax": ("a = softmax(z)", "δ_z = a ⊙ (δ - aᵀ δ)", ""),
    "LogSoftmax": ("a = log softmax(z)", "δ_z = δ - exp(a) Σ δ", ""),
    "Dropout": ("a = m ⊙ h", "δ_h = m ⊙ δ", ""),
    "Conv": _CONV,
    "MaxPool": ("y[i] = max of window i", "δ_x of the winner += δ[i]", ""),
    "AdaptiveMaxPool": ("y[i] = max of window i", "δ_x of the winner += δ[i]", ""),
    "MinPool": ("y[i] = min of window i", "δ_x of the winner += δ[i]", ""),
    "AvgPool": ("y[i] = mean of window i", "δ_x of each of K places += δ[i] / K", ""),
    "AdaptiveAvgPool": ("y[i] = mean of window i", "δ_x of each of K places += δ[i] / K", ""),
    **dict.fromkeys(("BatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm"), _NORM),
    **dict.fromkeys(
        ("RMSNorm", "MapRMSNorm"),
        ("x̂ = x / s, y = γ x̂", "δ_x = (δ̂ - x̂ mean(δ̂ ⊙ x̂)) / s, δ̂ = γ ⊙ δ", "∂ℓ/∂γ = Σ δ ⊙ x̂"),
    ),
    **dict.fromkeys(("RNN", "RNNCell"), ("h_t = φ(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)", *_TIME)),
    **dict.fromkeys(("LSTM", "LSTMCell"), ("c_t = f ⊙ c_{t-1} + i ⊙ g, h_t = o ⊙ tanh(c_t)", *_TIME)),
    **dict.fromkeys(("GRU", "GRUCell"), ("h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}", *_TIME)),
    **dict.fromkeys(_MOVES.split(), _MOVE),
    **dict.fromkeys(("add", "iadd", "radd"), ("y = a + b", "δ_a = δ, δ_b = δ", "")),
    **dict.fromkeys(("sub", "isub", "rsub"), ("y = a - b", "δ_a = δ, δ_b = -δ", "")),
    **dict.fromkeys(("mul", "imul", "rmul"), ("y = a ⊙ b", "δ_a = b ⊙ δ, δ_b = a ⊙ δ", "")),
    **dict.fromkeys(("truediv", "div"), ("y = a / b", "δ_a = δ / b, δ_b = -a δ / b²", "")),
    **dict.fromkeys(("matmul", "mm", "bmm"), ("Y = A B", "δ_A = δ Bᵀ, δ_B = Aᵀ δ", "")),
    "sum": ("y = Σ x", "δ_x = δ for each", ""),
    "mean": ("y = mean of n numbers x", "δ_x = δ / n for each", ""),
}

ELEMENTWISE = {*(name for name in ACTIVATIONS if name[0].isupper()), "HybridOutput"}  # classes: a unit has one input
_WORDS = {name.lower(): words for name, words in _NAMED.items()}
_LOSS_WORDS: dict[Any, tuple[str, str]] = {
    half_square: ("ℓ = ½ Σ (f - y)²", "δ = f - y"),
    **dict.fromkeys((square, nn.MSELoss), ("ℓ = Σ (f - y)²", "δ = 2 (f - y)")),
    **dict.fromkeys((absolute, nn.L1Loss), ("ℓ = Σ |f - y|", "δ = sign(f - y)")),
    Gaussian: ("ℓ = ½ Σ (f - y)² / s² + c", "δ = (f - y) / s²"),
    **dict.fromkeys((Bernoulli, nn.BCEWithLogitsLoss), ("ℓ = -log p(y | σ(f))", "δ = σ(f) - y")),
    **dict.fromkeys((Categorical, nn.CrossEntropyLoss), ("ℓ = -log softmax(f)_y", "δ = softmax(f) - e_y")),
}


def words_of(layer: nn.Module | None, name: str) -> Words:
    """Formulas of a layer by the name of its class, Conv2d as Conv; of an operation by the name of its function.

    A subclass with a `forward` of its own is unknown.
    """
    kinds = () if layer is None else type(layer).__mro__
    names = [kind.__name__ for kind in kinds if getattr(kind, "forward", None) is getattr(type(layer), "forward", None)]
    keys = [re.sub(r"[123]d$", "", key).replace("_", "").lower() for key in names or [name]]
    return next((_WORDS[key] for key in keys if key in _WORDS), UNKNOWN)


def words_of_loss(loss: Any, y: Any) -> tuple[str, str]:
    """Formulas of a loss and of the δ that it passes back first; general ones where it has weights or options."""
    if loss is usual:
        loss = nn.CrossEntropyLoss if not y.is_floating_point() else half_square
    key = loss if loss in _LOSS_WORDS else type(loss)
    plain = not any(
        getattr(loss, name, None) not in (None, 0.0) for name in ("weight", "pos_weight", "label_smoothing")
    )
    return _LOSS_WORDS[key] if key in _LOSS_WORDS and plain else ("ℓ = f(raw, y)", "δ = ∂ℓ/∂raw")
