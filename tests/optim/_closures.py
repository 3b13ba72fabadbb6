"""Functions of θ as torch closures, for the rules that evaluate them themselves."""

import numpy as np
import torch


class Closure:
    """f(θ) with its gradient, from a start; counts evaluations."""

    def __init__(self, f, start, dtype=torch.float64):
        self.f, self.count = f, 0
        self.theta = torch.tensor(np.asarray(start), dtype=dtype, requires_grad=True)

    def __call__(self):
        self.count += 1
        self.theta.grad = None
        value = self.f(self.theta)
        value.backward()
        return value

    @property
    def x(self):
        return self.theta.detach().numpy().copy()


def quadratic(n, condition, seed=0):
    """A, b and the closure of ½ θᵀ A θ - b·θ from a random start; curvatures from 1 to `condition`."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = basis @ np.diag(np.geomspace(1, condition, n)) @ basis.T
    b = rng.normal(size=n)
    a, c = torch.tensor(matrix), torch.tensor(b)
    return matrix, b, Closure(lambda t: t @ a @ t / 2 - c @ t, rng.normal(size=n))


def rosenbrock(theta):
    return (100 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2).sum()


def settled(rule, closure, most=1000):
    """Updates until the rule says why it stops, and how many."""
    for n in range(1, most + 1):
        rule.step(closure)
        if rule.stop_reason:
            return n
    return most
