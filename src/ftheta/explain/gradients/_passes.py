"""A pass forward and back with everything kept: values, δ, gradients of each row, losses after a step, and formulas.

Each layer that ran and each operation between layers is written down with where its values came from; a layer is a
module without parts. Numbers come from autograd, formulas from a table: name of a class, or of a torch function ->
what it computes, what it passes back, the gradients of its parameters.

Shapes: B rows; a value and its δ (B, ...), gradients of a parameter (B, its shape).
"""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from ...errors import InputError
from ...likelihoods import Bernoulli, Categorical, Gaussian, Likelihood
from .._point import Point, absolute, half_square, square, usual
from .._probe import DRAW, array, gradients, numbered

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
    "MismatchedOutput": ("z", "σ'(z), which is not the derivative of z"),
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
        ("RMSNorm", "MapRMSNorm"), ("x̂ = x / s, y = γ x̂", "δ_x = (δ̂ - x̂ mean(δ̂ ⊙ x̂)) / s, δ̂ = γ ⊙ δ", "∂ℓ/∂γ = Σ δ ⊙ x̂")
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

ELEMENTWISE = {
    *(name for name in ACTIVATIONS if name[0].isupper()),
    "MismatchedOutput",
}  # classes: a unit has one input
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
    options = (getattr(loss, name, None) for name in ("weight", "pos_weight", "label_smoothing"))
    plain = all(value is None or (isinstance(value, float) and not value) for value in options)
    return _LOSS_WORDS[key] if key in _LOSS_WORDS and plain else ("ℓ = f(raw, y)", "δ = ∂ℓ/∂raw")


class Step(NamedTuple):
    """One call of a layer, or of an operation between layers; the first steps are the inputs."""

    name: str
    layer: nn.Module | None
    sources: tuple[int, ...]  # numbers of the steps whose values it takes
    out: Tensor  # what it returned, in the graph
    value: Tensor  # a copy: an operation that follows may write into `out`
    idle: bool = False  # a layer that returned its input, as dropout does in evaluation mode


class Record(TorchFunctionMode):
    """The steps of one forward pass, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._from: dict[int, tuple[Tensor, int]] = {}  # the tensor is kept, so that its id stays its own
        self._depth = 0

    def start(self, x: Any) -> Any:
        """Write down the inputs; returns copies, which a layer may change in place."""
        given = tree_map(lambda v: v.clone() if _floats(v) else v, x)
        pairs = zip(tree_flatten(x)[0], tree_flatten(given)[0], strict=True)
        for tensor, copy in ((a, b) for a, b in pairs if isinstance(a, Tensor)):
            self._from |= {id(v): (v, len(self.steps)) for v in (tensor, copy)}
            self.steps.append(Step("input", None, (), tensor, tensor.detach().clone()))
        return given

    def knows(self, tensor: Tensor) -> bool:
        """Whether a tensor was computed from the inputs."""
        return id(tensor) in self._from

    def add(self, name: str, layer: nn.Module | None, given: Any, out: Any, idle: bool = False) -> None:
        """Write down a step, if a number comes out that depends on the inputs."""
        found = [v for v in tree_flatten(out)[0] if _floats(v)]
        sources = {self._from[id(v)][1] for v in tree_flatten(given)[0] if id(v) in self._from}
        if found and sources:
            self._from |= {id(v): (v, len(self.steps)) for v in found}
            self.steps.append(Step(name, layer, tuple(sorted(sources)), found[0], found[0].detach().clone(), idle))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        name = getattr(getattr(func, "__self__", None), "__name__", name) if name == "__get__" else name
        if not self._depth and torch.is_grad_enabled() and name not in ("detach", "data"):
            with torch._C.DisableTorchFunction():
                self.add(name.strip("_"), None, (args, kwargs), args[0] if name == "__setitem__" else out)
        return out

    @contextmanager
    def of(self, module: nn.Module, net: nn.Module | None = None) -> Iterator[Self]:
        """While it is entered, calls are written down; layers have the names that they have in `net`."""
        names = {id(p): n for part in (module, net or module) for n, p in part.named_modules()}
        parts = [(names[id(p)], p) for p in module.modules() if not p._modules]
        known = [(n or type(p).__name__, p) for n, p in parts if p is not module or words_of(p, "") is not UNKNOWN]
        handles = [p.register_forward_pre_hook(self._enter) for _, p in known]
        handles += [p.register_forward_hook(self._leave(n)) for n, p in known]
        try:
            with self, torch.enable_grad():
                yield self
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, layer: nn.Module, args: Any) -> Any:
        self._depth += 1
        with torch._C.DisableTorchFunction():
            if getattr(layer, "inplace", False) and self._depth == 1:
                fresh = tree_map(lambda v: v.clone() if _floats(v) else v, args)
                pairs = zip(tree_flatten(args)[0], tree_flatten(fresh)[0], strict=True)
                self._from |= {id(b): (b, self._from[id(a)][1]) for a, b in pairs if id(a) in self._from}
                return fresh

    def _leave(self, name: str) -> Any:
        def leave(layer: nn.Module, args: Any, out: Any) -> Any:
            self._depth -= 1
            if self._depth or not torch.is_grad_enabled():
                return out
            with torch._C.DisableTorchFunction():
                idle = any(out is arg for arg in args) and not getattr(layer, "inplace", False)
                out = out.clone() if idle else out  # a value of its own, although nothing was done to it
                self.add(name, layer, args, out, idle)
            return out

        return leave


def _floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


_SIGNS = {"add": "+", "iadd": "+", "sub": "-", "mul": "⊙", "truediv": "/", "div": "/", "cat": "concat", "matmul": "@"}


class BackpropStep(NamedTuple):
    """One call of a layer or an operation; the first ones are the inputs."""

    name: str  # of the layer, with the number of the call where it ran more than once; the sign of an operation
    kind: str  # class of the layer; "input", or "operation"
    known: bool  # whether its formula is known
    forward: str  # formula of its output
    backward: str  # formula of δ of its inputs
    gradient: str  # formula of its parameters' gradients
    sources: tuple[int, ...]  # numbers of the steps whose values it takes
    value: np.ndarray  # its output: (B, ...)
    delta: np.ndarray  # ∂ℓ/∂value: (B, ...)


def forward_backward(point: Point, lr: float, reduction: str) -> dict[str, Any]:
    """One pass forward, autograd back for all rows and for each, and the losses after a step: fields of `Backprop`."""
    net: Any = point.objective.module
    record, batch = Record(), point.batch
    given = record.start(batch.x)
    DRAW.seed_global()
    with record.of(net, point.module):
        raw = net(given)
    if not isinstance(raw, Tensor):
        raise InputError(f"The module returned a {type(raw).__name__}; backprop needs one tensor of outputs.")
    if not record.knows(raw):
        raise InputError("The module's output was not computed from X by its layers; there is nothing to pass back.")
    with torch.enable_grad():
        each = row_losses(point, raw)
    if not each.requires_grad:
        raise InputError("The loss does not depend on the output of the module; pass a function of (raw, y).")
    deltas = gradients(each.sum(), [step.out for step in record.steps])
    single = [gradients(e, list(point.parameters.values())) for e in each]
    of_rows = {name: np.stack([array(g[k]) for g in single]) for k, name in enumerate(point.parameters)}
    values, weight = {n: array(p) for n, p in point.parameters.items()}, batch.weight
    shares = np.ones(batch.n) if weight is None or weight.ndim > 1 else array(weight)
    if reduction == "mean":  # over Σ w; pixels and tokens of a row count each
        shares = shares / float(batch.sum(_each(point, raw.detach()))[1])
    total = {n: np.tensordot(shares, g, 1) for n, g in of_rows.items()}
    return {
        "steps": tuple(_steps(record.steps, deltas)),
        "words": words_of_loss(point.objective.nll, batch.y),
        "losses": array(each),
        "losses_after": _losses_at(point, {n: values[n] - lr * g for n, g in total.items()}),
        "shares": shares,
        "targets": array(batch.y) if isinstance(batch.y, Tensor) else None,
        "parameters": values,
        "gradients": of_rows,
        "gap": _gap(point, values, total, shares),
        "lr": lr,
    }


def row_losses(point: Point, raw: Tensor) -> Tensor:
    """Loss of each row; of pixels or tokens summed, with their weights: (B,)."""
    each, n, weight = _each(point, raw), point.batch.n, point.batch.weight
    if not isinstance(each, Tensor) or each.ndim == 0 or len(each) != n:
        shape = tuple(each.shape) if isinstance(each, Tensor) else type(each).__name__
        raise InputError(f"The loss gave {shape} for {n} rows; backprop needs one per row: use reduction='none'.")
    if weight is not None and weight.ndim > 1:
        each = each * weight.view(*weight.shape, *(1 for _ in range(each.ndim - weight.ndim)))
    return each.flatten(1).sum(1) if each.ndim > 1 else each


def _each(point: Point, raw: Tensor) -> Any:
    """Loss of each row, token or pixel: (B, ...)."""
    nll: Any = point.objective.nll
    return nll.nll(raw, point.batch.y) if isinstance(nll, Likelihood) else nll(raw, point.batch.y)


def _steps(steps: list[Step], deltas: list[Tensor]) -> Iterator[BackpropStep]:
    names = numbered([s.name if s.layer is not None else _SIGNS.get(s.name, s.name) for s in steps])
    for step, name, delta in zip(steps, names, deltas, strict=True):
        if not step.sources:
            yield BackpropStep(name, "input", True, "x", "", "", (), array(step.value), array(delta))
            continue
        words = words_of(step.layer, step.name)
        kind = "operation" if step.layer is None else type(step.layer).__name__
        yield BackpropStep(name, kind, words is not UNKNOWN, *words, step.sources, array(step.value), array(delta))


def _losses_at(point: Point, at: dict[str, np.ndarray]) -> np.ndarray:
    """Loss of each row at other parameters: (B,)."""
    theta = {n: torch.as_tensor(v).to(point.parameters[n]) for n, v in at.items()}
    net: Any = point.objective.module
    with torch.no_grad():
        return array(point.holding(theta, lambda: row_losses(point, net(point.ready().x))))


def _gap(point: Point, at: dict[str, np.ndarray], gradient: dict[str, np.ndarray], shares: np.ndarray) -> float:
    """How far the directional derivative is from a central difference, without draws."""
    if point.objective.training or not at:
        return math.nan
    rng = np.random.default_rng(DRAW.generator("direction").initial_seed())
    way, eps = {n: rng.normal(size=v.shape) for n, v in at.items()}, 1e-6
    found = sum((gradient[n] * way[n]).sum() for n in at)
    high, low = (shares @ _losses_at(point, {n: at[n] + s * eps * way[n] for n in at}) for s in (1, -1))
    slope = (high - low) / (2 * eps)
    return float(abs(slope - found) / max(abs(slope), abs(found), 1e-5 * (1 + abs(high))))
