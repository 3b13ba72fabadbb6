"""Automatic differentiation over NumPy, to be read: reverse and forward mode, and everything made of them.

grad(f)(x)   value_and_grad(f)(x)   jacobian(f, x)   hessian(f, x)      derivatives as arrays
vjp(f, x)    jvp(f, x, v)           hvp(f, x, v)                        products with them, without them
x = variable(2.0); y = x * x; backward(y)[x]                            node by node; total and partial apart
graph(f, x)  cost(f, x)  checkpoint(f)  vmap(f)                         what happens, and what it costs
"""

from ..catalog import lazy
from . import primitives  # noqa: F401 - it fills the table of primitives

lazy(__name__)
