"""Automatic differentiation over NumPy, to be read: reverse and forward mode, and everything made of them.

grad(f)(x)   value_and_grad(f)(x)   jacobian(f, x)   hessian(f, x)      derivatives as arrays
vjp(f, x)    jvp(f, x, v)           hvp(f, x, v)                        products with them, without them
x = variable(2.0); y = x * x; backward(y)[x]                            node by node; total and partial apart
graph(f, x)  cost(f, x)  checkpoint(f)  vmap(f)                         what happens, and what it costs
"""

from __future__ import annotations

from ._boxes import PRIMITIVES, Box, Primitive, plain, primitive
from ._rules import by_argument, elementwise, linear_map
from .engine import (
    Adjoints,
    Dual,
    Node,
    Tape,
    backward,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    partial,
    total,
    value_and_grad,
    variable,
    vjp,
)
from .graph import Graph, graph
from .layers import (
    attention,
    batch_norm,
    bce_with_logits,
    conv,
    cross_entropy,
    dropout,
    hinge,
    kl,
    layer_norm,
    log_softmax,
    masked_softmax,
    max_pool,
    mean_pool,
    mse,
    rms_norm,
    take_along_axis,
    var,
)
from .primitives import (
    abs,
    add,
    broadcast_to,
    clip,
    concatenate,
    cos,
    divide,
    elu,
    erf,
    exp,
    expm1,
    gelu,
    getitem,
    leaky_relu,
    linear,
    log,
    log1p,
    logsumexp,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    multiply,
    negative,
    pad,
    power,
    relu,
    reshape,
    scatter,
    sigmoid,
    silu,
    sin,
    softmax,
    softplus,
    sqrt,
    square,
    stack,
    subtract,
    sum,
    swapaxes,
    tanh,
    transpose,
    unwindows,
    where,
    windows,
)
from .samples import SAMPLES, Entry, Sample
from .transforms import Cost, checkpoint, cost, vmap

__all__ = [
    "PRIMITIVES", "SAMPLES", "Adjoints", "Box", "Cost", "Dual", "Entry", "Graph", "Node", "Primitive", "Sample",
    "Tape", "abs", "add", "attention", "backward", "batch_norm", "bce_with_logits", "broadcast_to", "by_argument",
    "checkpoint", "clip", "concatenate", "conv", "cos", "cost", "cross_entropy", "divide", "dropout", "elementwise",
    "elu", "erf", "exp", "expm1", "gelu", "getitem", "grad", "graph", "hessian", "hinge", "hvp", "jacobian", "jvp",
    "kl", "layer_norm", "leaky_relu", "linear", "linear_map", "log", "log1p", "log_softmax", "logsumexp",
    "masked_softmax", "matmul", "max", "max_pool", "maximum", "mean", "mean_pool", "min", "minimum", "mse",
    "multiply", "negative", "pad", "partial", "plain", "power", "primitive", "relu", "reshape", "rms_norm", "scatter",
    "sigmoid", "silu", "sin", "softmax", "softplus", "sqrt", "square", "stack", "subtract", "sum", "swapaxes",
    "take_along_axis", "tanh", "total", "transpose", "unwindows", "value_and_grad", "var", "variable", "vjp", "vmap",
    "where", "windows",
]  # fmt: skip
