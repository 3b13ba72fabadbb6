"""The primal problem of a linear machine: Newton's method inside an augmented Lagrangian, and the subgradient method.

    P_s(w, b) = ½ ‖w‖² + Σ_i max { β_i r_i - ε |β_i| - s/(2C_i) (β_i - β⁰_i)² :  l_i <= β_i <= h_i }
    β_i       = clip(soft(β⁰_i + C_i r_i / s, C_i ε / s), l_i, h_i)        the maximum, and -∂P_s/∂f_i
    Newton    (I + Σ_free C_i/s x_i x_iᵀ) δ = -∇P_s;    then β⁰ <- β, s <- s/3, until P - D is small
    subgradient    θ <- θ - g / (t + 50),    g a subgradient of P,    t = 0, 1, ...

With β⁰ = 0 the hinge is rounded off over a width s. Only rows with β between its ends have curvature, so Newton's
matrix is cheap, and they stay the same as s falls, because β⁰ remembers them.
Shapes: n rows, D features.
References: Li, Sun and Toh, A Highly Efficient Semismooth Newton Augmented Lagrangian Method, SIAM J. Optim. 28 (2018);
Chapelle, Training a Support Vector Machine in the Primal, Neural Computation 19 (2007); Shalev-Shwartz, Singer, Srebro
and Cotter, Pegasos, Mathematical Programming 127 (2011).
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .problem import Problem, Solution

WIDEST, FINEST, FALL = 2.0, 0.005, 0.3  # s at first and at last, in units of t, and from one to the next
OUTER, STEPS = 200, 50  # how often β⁰ is renewed, and Newton's steps for each, at most
ENOUGH = 30  # rows per column from which Newton's matrix is computed
LATE = 50  # t at the start of the subgradient method
KEPT = 200  # values of P on the way that are kept


def newton(p: Problem, tol: float) -> Solution:
    """Minimize P until P - D <= tol P."""
    theta, beta = np.r_[np.zeros(p.x.shape[1]), np.average(p.t, weights=p.c)], np.zeros(len(p.t))
    unit = float(np.std(p.t)) or 1.0
    s, path = WIDEST * unit, []
    for _ in range(OUTER):
        theta, beta = _smoothed(p, theta, beta, p.c / s, tol)
        w, own = theta[:-1], beta @ p.x
        path.append(p.primal(float(w @ w), p.x @ w + theta[-1]))
        if path[-1] - p.dual(float(own @ own), beta) <= tol * path[-1]:
            break
        s = max(s * FALL, FINEST * unit)
    return Solution(beta, float(theta[-1]), tuple(path))


def _smoothed(
    p: Problem, theta: np.ndarray, start: np.ndarray, rate: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method on P_s with rate C/s (n,), from (w, b) and β⁰: (w, b) and β."""
    f = p.x @ theta[:-1] + theta[-1]
    value, beta, zone = _loss(p, theta, f, start, rate)
    for _ in range(STEPS):
        g = np.r_[theta[:-1] - beta @ p.x, -beta.sum()]
        if float(g[:-1] @ g[:-1]) / 2 + abs(g[-1]) <= 0.1 * tol * abs(value):
            break
        step = _solve(p, np.flatnonzero(zone), rate, g)
        fall, along, size = float(-g @ step), p.x @ step[:-1] + step[-1], 1.0
        if fall <= 1e-15 * abs(value):
            break
        tried = _loss(p, theta + step, f + along, start, rate)
        while tried[0] > value - 1e-4 * size * fall and size > 1e-9:
            size /= 2
            tried = _loss(p, theta + size * step, f + size * along, start, rate)
        theta, f, (value, beta, zone) = theta + size * step, f + size * along, tried
    return theta, beta


def _loss(
    p: Problem, theta: np.ndarray, f: np.ndarray, start: np.ndarray, rate: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """P_s, β (n,), and which rows have curvature (n,)."""
    r = p.t - f
    free = start + rate * r
    if p.epsilon:
        free = np.sign(free) * np.maximum(np.abs(free) - rate * p.epsilon, 0)
    beta = np.clip(free, p.low, p.high)
    away = beta - start
    value = beta @ r - p.epsilon * np.abs(beta).sum() - away @ (away / rate) / 2
    return float(theta[:-1] @ theta[:-1]) / 2 + float(value), beta, (beta == free) & (beta != 0)


def _solve(p: Problem, zone: np.ndarray, rate: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Newton's direction for (w, b), of many rows in the zone from evenly spaced ones: (D + 1,)."""
    d = p.x.shape[1]
    every = max(1, len(zone) // (ENOUGH * d))
    root = np.sqrt(every * rate[zone[::every]])
    a = p.x[zone[::every]] * root[:, None]
    matrix = np.eye(d + 1)
    matrix[:d, :d] += a.T @ a
    matrix[:d, d] = matrix[d, :d] = a.T @ root
    matrix[d, d] = root @ root + 1e-6 * rate.sum()  # b moves, too, where no row is free
    return -cho_solve(cho_factor(matrix, check_finite=False), g, check_finite=False)


def descend(p: Problem, steps: int) -> Solution:
    """The subgradient method from 0: w is the mean of what the rows asked for, β that of their slopes."""
    w, b, beta = np.zeros(p.x.shape[1]), 0.0, np.zeros(len(p.t))
    best, path, every = np.inf, [], max(1, steps // KEPT)
    for t in range(steps):
        f = p.x @ w + b
        r = p.t - f
        if t % every == 0:
            best = min(best, p.primal(float(w @ w), f))
            path.append(best)
        slope, rate = np.where(r > p.epsilon, p.high, np.where(r < -p.epsilon, p.low, 0.0)), 1 / (t + LATE)
        beta = beta + rate * (slope - beta)
        w, b = beta @ p.x, b + rate * float(slope.sum())
    return Solution(beta, b, tuple(path))
