"""Synthetic data: rows whose truth is known, so that a model can be compared with it.

    regression:      y = f(x) + s(x) ε,   ε ~ N(0, 1)             truth: mean f, scale s
    classification:  p(x) = ½ p(x | 0) + ½ p(x | 1)               truth: P(1 | x) and the error of the Bayes classifier

    pixels:          discs, squares and triangles, turned and partly hidden, on a noisy ground: `shapes`

Classes are as equal in number as n allows. Draws come from the seed and the name alone.
Shapes: n rows, D features, K classes.
References: Friedman, Multivariate Adaptive Regression Splines, Annals of Statistics 19(1) (1991); Craig, A New, Simple
and Exact Result for Calculating the Probability of Error for Two-Dimensional Signal Constellations, MILCOM (1991).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import expit, logsumexp, ndtr, softmax

from ...catalog import nearest
from ...draw import Draw
from ...errors import InputError
from ..datasets import Dataset, Function, Truth

MADE = "none: the numbers are made"  # the license
Curve = Callable[[np.ndarray, int], np.ndarray]


def make_dataset(name: str, n: int | None = None, noise: float | None = None, seed: int = 0) -> Dataset:
    """A synthetic data set by name; what `noise` means, and its default, is the set's own.

    Example:
        >>> make_dataset("two-gaussians", n=10).truth.bayes_error
        0.1587
    """
    if name not in SYNTHETIC:
        raise InputError(nearest("synthetic data set", name, SYNTHETIC))
    given = {"n": n, "noise": noise}
    return SYNTHETIC[name](seed=seed, **{key: value for key, value in given.items() if value is not None})


def two_gaussians(
    n: int = 1000, noise: float = 1.0, seed: int = 0, *, distance: float = 2.0, dimensions: int = 2
) -> Dataset:
    """Two round Gaussians of standard deviation `noise`; their centers are `distance` apart along x1."""
    rng, y = _start("two-gaussians", n, noise, seed, spread=True)
    x = noise * rng.standard_normal((n, dimensions))
    x[:, 0] += distance * (y - 0.5)
    truth = Truth(
        f"x | y ~ N(±{distance / 2:g} e₁, {noise:g}² I); error Φ(-d / 2σ), d = {distance:g}, σ = {noise:g}",
        probability=lambda x: expit(distance * _array(x)[:, 0] / noise**2),
        bayes_error=float(ndtr(-distance / (2 * noise))),
    )
    return _dataset("two-gaussians", x, y, truth)


def xor(n: int = 1000, noise: float = 0.4, seed: int = 0) -> Dataset:
    """Four Gaussians of standard deviation `noise` at (±1, ±1); class 1 where the signs differ."""
    rng, y = _start("xor", n, noise, seed, spread=True)
    first = rng.choice([-1.0, 1.0], n)
    x = np.stack([first, np.where(y == 1, -first, first)], axis=1) + noise * rng.standard_normal((n, 2))
    truth = Truth(
        f"x | y ~ N((±1, ±1), {noise:g}² I), y = 1 where the signs differ; P(1 | x) = ½(1 - tanh(x₁/σ²) tanh(x₂/σ²))",
        probability=lambda x: 0.5 - 0.5 * np.tanh(_array(x) / noise**2).prod(axis=1),
        bayes_error=float(2 * ndtr(1 / noise) * ndtr(-1 / noise)),
    )
    return _dataset("xor", x, y, truth)


def checkerboard(n: int = 1000, noise: float = 0.05, seed: int = 0) -> Dataset:
    """Uniform on [-2, 2]²: the cell of side 1 gives the class; a label is wrong with probability `noise`."""
    rng, y = _start("checkerboard", n, noise, seed)
    if noise > 0.5:
        raise InputError(f"The noise of 'checkerboard' is {noise:g}, the chance of a wrong label; give at most 0.5.")
    cell = rng.integers(-2, 2, (n, 2))
    cell[:, 1] ^= (cell.sum(axis=1) + y) & 1  # the neighbor where the parity is not that of y
    x = cell + rng.random((n, 2))
    y = np.where(rng.random(n) < noise, 1 - y, y)
    truth = Truth(
        f"x ~ U[-2, 2]², y = (⌊x₁⌋ + ⌊x₂⌋) mod 2, wrong with probability {noise:g}",
        probability=lambda x: np.where(np.floor(_array(x)).sum(axis=1) % 2 == 1, 1 - noise, noise),
        bayes_error=float(noise),
    )
    return _dataset("checkerboard", x, y, truth)


def blobs(n: int = 1000, noise: float = 1.0, seed: int = 0, *, classes: int = 3) -> Dataset:
    """Round Gaussians of standard deviation `noise`, their centers evenly on a circle of radius 2."""
    if classes < 2:
        raise InputError(f"'blobs' has {classes} classes; at least 2 are needed.")
    rng, y = _start("blobs", n, noise, seed, classes, spread=True)
    angle = 2 * np.pi * np.arange(classes) / classes
    center = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)  # (K, 2)

    a = 2 * math.sin(math.pi / classes) ** 2 / noise**2  # Craig (1991): an integral over one angle
    area = quad(lambda t: math.exp(-a / max(math.sin(t) ** 2, 1e-300)), 0, math.pi * (1 - 1 / classes))[0]
    truth = Truth(
        f"x | y ~ N(2 (cos 2πy/K, sin 2πy/K), {noise:g}² I), K = {classes}",
        probability=lambda x: softmax(_array(x) @ center.T / noise**2, axis=1)[:, 1],  # all |center| are equal
        bayes_error=area / math.pi,
    )
    return _dataset("blobs", center[y] + noise * rng.standard_normal((n, 2)), y, truth)


def _arc(angle: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def moons(n: int = 1000, noise: float = 0.2, seed: int = 0) -> Dataset:
    """Two half circles that reach into each other, with Gaussian noise around them."""
    curve: Curve = lambda t, c: np.array([1, 0.5]) - _arc(np.pi * t) if c else _arc(np.pi * t)  # noqa: E731
    return _curves("moons", "(cos πt, sin πt), (1 - cos πt, ½ - sin πt)", curve, n, noise, seed)


def circles(n: int = 1000, noise: float = 0.1, seed: int = 0) -> Dataset:
    """A circle of radius ½ (class 1) inside one of radius 1, with Gaussian noise around them."""
    curve: Curve = lambda t, c: (0.5 if c else 1.0) * _arc(2 * np.pi * t)  # noqa: E731
    return _curves("circles", "(cos 2πt, sin 2πt), ½ (cos 2πt, sin 2πt)", curve, n, noise, seed)


def spirals(n: int = 1000, noise: float = 0.05, seed: int = 0) -> Dataset:
    """Two arms of one and a half turns, with Gaussian noise around them."""
    curve: Curve = lambda t, c: (-1) ** c * t[..., None] * _arc(3 * np.pi * t)  # noqa: E731
    return _curves("spirals", "± t (cos 3πt, sin 3πt)", curve, n, noise, seed)


def _curves(name: str, formula: str, curve: Curve, n: int, noise: float, seed: int) -> Dataset:
    rng, y = _start(name, n, noise, seed)
    t = rng.random(n)
    x = np.where(y[:, None] == 1, curve(t, 1), curve(t, 0)) + noise * rng.standard_normal((n, 2))
    formula = f"x | y = {formula} + {noise:g} ε, t ~ U[0, 1]; P(1 | x) by quadrature over t"
    probability, error = (_along(curve, noise), _curve_error(curve, noise)) if noise else (None, 0.0)
    return _dataset(name, x, y, Truth(formula, probability=probability, bayes_error=error))


def _points(curve: Curve, noise: float) -> list[np.ndarray]:
    """Points along both curves, closer together than the noise is wide: two of (m, 2)."""
    m = int(np.clip(10 / noise, 100, 4000))
    return [curve((np.arange(m) + 0.5) / m, c) for c in (0, 1)]


def _along(curve: Curve, noise: float) -> Function:
    """P(1 | x) where x = curve(t) + noise ε and t is uniform, from means of Gaussians over t."""
    zero, one = (center / noise for center in _points(curve, noise))

    def log_mean(x: np.ndarray, center: np.ndarray) -> np.ndarray:
        """Up to what both classes share: (·, 2) -> (·,)."""
        return np.asarray(logsumexp(x @ center.T - (center**2).sum(axis=1) / 2, axis=1))

    def probability(x: np.ndarray) -> np.ndarray:
        x = _array(x) / noise
        parts = np.array_split(x, 1 + len(x) * len(one) // 2**20)  # of bounded memory
        return np.concatenate([expit(log_mean(part, one) - log_mean(part, zero)) for part in parts])

    return probability


def _curve_error(curve: Curve, noise: float) -> float:
    """½ ∫ min(p(x | 0), p(x | 1)) dx on a grid, where both densities are sums of products of one coordinate each."""
    zero, one = _points(curve, noise)
    low, high = (f([f(zero, axis=0), f(one, axis=0)], axis=0) for f in (np.min, np.max))
    edge = [np.linspace(low[j] - 6 * noise, high[j] + 6 * noise, 401) for j in (0, 1)]
    cell = (edge[0][1] - edge[0][0]) * (edge[1][1] - edge[1][0])

    def density(center: np.ndarray) -> np.ndarray:
        a, b = (np.exp(-(((edge[j][:, None] - center[:, j]) / noise) ** 2) / 2) for j in (0, 1))  # (401, m)
        return a @ b.T / (len(center) * 2 * np.pi * noise**2)

    return float(0.5 * cell * np.minimum(density(zero), density(one)).sum())


def sinusoid(n: int = 1000, noise: float = 0.2, seed: int = 0) -> Dataset:
    """One period of a sine with Gaussian noise of standard deviation `noise`."""
    mean: Function = lambda x: np.sin(2 * np.pi * _array(x)[:, 0])  # noqa: E731
    return _numbers("sinusoid", f"y = sin(2πx) + {noise:g} ε, x ~ U[0, 1]", mean, n, noise, seed)


def friedman(n: int = 1000, noise: float = 1.0, seed: int = 0) -> Dataset:
    """Friedman's first function: five of ten columns matter, two of them together."""

    def mean(x: np.ndarray) -> np.ndarray:
        a, b, c, d, e = _array(x)[:, :5].T
        return 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e

    formula = f"y = 10 sin(π x₁ x₂) + 20 (x₃ - ½)² + 10 x₄ + 5 x₅ + {noise:g} ε, x ~ U[0, 1]¹⁰"
    source = "Friedman, J. H. (1991). Multivariate Adaptive Regression Splines. Annals of Statistics 19(1), 1-67."
    return _numbers("friedman", formula, mean, n, noise, seed, features=10, citation=source)


def polynomial(
    n: int = 1000, noise: float = 0.3, seed: int = 0, *, coefficients: Sequence[float] = (1.0, -2.0, 0.0, 3.0)
) -> Dataset:
    """A polynomial on [-1, 1] with Gaussian noise; coefficients from the constant up."""
    mean: Function = lambda x: np.polynomial.polynomial.polyval(_array(x)[:, 0], coefficients)  # noqa: E731
    terms = " + ".join(f"{c:g} x^{k}" for k, c in enumerate(coefficients)).replace("+ -", "- ").replace(" x^0", "")
    return _numbers("polynomial", f"y = {terms} + {noise:g} ε, x ~ U[-1, 1]", mean, n, noise, seed, low=-1.0)


def heteroscedastic(n: int = 1000, noise: float = 1.0, seed: int = 0) -> Dataset:
    """A sine whose noise grows with x; `noise` is a factor on its standard deviation."""
    mean: Function = lambda x: np.sin(2 * np.pi * _array(x)[:, 0])  # noqa: E731
    scale: Function = lambda x: noise * (0.05 + 0.4 * _array(x)[:, 0])  # noqa: E731
    formula = f"y = sin(2πx) + ({0.05 * noise:g} + {0.4 * noise:g} x) ε, x ~ U[0, 1]"
    return _numbers("heteroscedastic", formula, mean, n, noise, seed, scale=scale)


def _numbers(
    name: str,
    formula: str,
    mean: Function,
    n: int,
    noise: float,
    seed: int,
    *,
    features: int = 1,
    low: float = 0.0,
    scale: Function | None = None,
    citation: str = "",
) -> Dataset:
    """x ~ U[low, 1], y = mean(x) + scale(x) ε."""
    scale = scale or (lambda x: np.full(len(x), float(noise)))
    rng, _ = _start(name, n, noise, seed)
    x = rng.uniform(low, 1.0, (n, features))
    return _dataset(name, x, mean(x) + scale(x) * rng.standard_normal(n), Truth(formula, mean, scale), citation)


_SIDES = (math.inf, 4, 3)  # of the figures of class 1, 2, 3
MAX_FIGURES = 3  # figures of an image


def shapes(n: int = 500, noise: float = 0.1, seed: int = 0, *, size: int = 32) -> Dataset:
    """Gray images of one to three figures; the label of a pixel is the figure that is seen there.

        polygon of m sides:  max_k u_k · (p - c) <= r cos(π/m),   u_k = (cos, sin)(φ + 2πk/m);     disc:  |p - c| <= r
        gray = level of the topmost figure at p, or of the ground, + noise ε,   ε ~ N(0, 1), cut to [0, 1]

    Brightness tells figures from each other and from the ground, and does not show their kind: that is in the outline.
    Later figures cover earlier ones. x is (n, S²) bytes, S = `size`; y is (n, S, S): 0 ground, 1 disc, 2 square,
    3 triangle.

    Example:
        >>> made = shapes(10)
        >>> made.x.shape, made.y.shape, made.target_names
        ((10, 1024), (10, 32, 32), ('ground', 'disc', 'square', 'triangle'))
    """
    if n < 1 or size < 16:
        raise InputError(f"'shapes' has {n} images of {size} x {size} pixels; at least 1 of 16 x 16 is needed.")
    rng = _generator("shapes", noise, seed)
    gray = np.broadcast_to(rng.uniform(0.0, 0.3, (n, 1, 1)), (n, size, size)).copy()
    y = np.zeros((n, size, size), np.int64)
    present = rng.integers(1, MAX_FIGURES + 1, n)
    bright = rng.permuted(np.tile([0.55, 0.75, 0.95], (n, 1)), axis=1) + rng.uniform(-0.05, 0.05, (n, MAX_FIGURES))
    for k in range(MAX_FIGURES):
        kind = rng.integers(1, 4, n)
        seen = _figures(rng, kind, size) & (k < present)[:, None, None]
        gray = np.where(seen, bright[:, k, None, None], gray)
        y = np.where(seen, kind[:, None, None], y)
    gray = np.clip(gray + noise * rng.standard_normal(gray.shape), 0, 1)
    pixels = np.round(255 * gray).astype(np.uint8).reshape(n, -1)
    truth = Truth(f"1 to {MAX_FIGURES} figures, each of its own brightness, on a darker ground, + {noise:g} ε")
    names = tuple(f"pixel{i}" for i in range(size**2)), ("ground", "disc", "square", "triangle")
    about = {"license": MADE, "kind": "image", "shape": (size, size), "truth": truth}
    return Dataset("shapes", pixels, y, *names, "segment", **about)


def _figures(rng: np.random.Generator, kind: np.ndarray, size: int) -> np.ndarray:
    """One figure per image, of a kind 1, 2 or 3, anywhere, of any angle: (n, S, S) of bool."""
    n = len(kind)
    radius = rng.uniform(0.16, 0.3, n) * size
    center = rng.uniform(radius, size - 1 - radius, (2, n))
    turn = rng.uniform(0, 2 * np.pi, n)
    di, dj = (np.arange(size)[None] - c[:, None] for c in center)  # (n, S) each
    far = [_distance(di[:, :, None], dj[:, None], turn, sides) for sides in _SIDES]  # (n, S, S) each
    return np.choose(kind[:, None, None] - 1, far) <= radius[:, None, None]


def _distance(di: np.ndarray, dj: np.ndarray, turn: np.ndarray, sides: float) -> np.ndarray:
    """Circumradius of the polygon through each pixel: (n, S, 1), (n, 1, S), (n,) -> (n, S, S)."""
    if sides == math.inf:
        return np.hypot(di, dj)
    angles = (turn + 2 * np.pi * k / sides for k in range(int(sides)))
    planes = [np.cos(a)[:, None, None] * di + np.sin(a)[:, None, None] * dj for a in angles]
    return np.max(planes, axis=0) / math.cos(math.pi / sides)


def _generator(name: str, noise: float, seed: int) -> np.random.Generator:
    if not 0 <= noise < math.inf:
        raise InputError(f"The noise of {name!r} is {noise}; give a finite number that is not negative.")
    return np.random.default_rng(Draw(seed).at("make", name).key())


def _start(name: str, n: int, noise: float, seed: int, classes: int = 2, *, spread: bool = False) -> tuple[Any, Any]:
    """A generator of this seed and name, and labels as equal in number as n allows, in random order."""
    if n < classes:
        raise InputError(f"{name!r} has {n} row{'s' * (n != 1)}; at least {classes} are needed.")
    if spread and noise == 0:
        raise InputError(f"The noise of {name!r} is 0; it is the spread of the classes: give a number above 0.")
    rng = _generator(name, noise, seed)
    return rng, rng.permutation(np.arange(n) % classes)


def _dataset(name: str, x: np.ndarray, y: np.ndarray, truth: Truth, citation: str = "") -> Dataset:
    import pandas as pd

    names = ("x",) if x.shape[1] == 1 else tuple(f"x{j + 1}" for j in range(x.shape[1]))
    classes = () if y.dtype.kind == "f" else tuple(map(str, range(int(y.max()) + 1)))
    task = "regression" if not classes else "binary" if len(classes) == 2 else "multiclass"
    return Dataset(name, pd.DataFrame(x, columns=list(names)), y, names, classes, task, MADE, citation, truth=truth)


def _array(x: Any) -> np.ndarray:
    return np.asarray(x, dtype=float)


_MAKERS = (moons, circles, spirals, xor, checkerboard, blobs, sinusoid, friedman, polynomial, heteroscedastic)
SYNTHETIC: dict[str, Callable[..., Dataset]] = {
    make.__name__.replace("_", "-"): make for make in (*_MAKERS, two_gaussians, shapes)
}
