"""Linear systems with an input: ARX, ARMAX, output error and Box-Jenkins, identified by their one-step errors.

    A(q) y_t = B(q) / F(q) u_{t-d} + C(q) / D(q) e_t,      A = 1 + a_1 q⁻¹ + ...,  B = b_0 + b_1 q⁻¹ + ...

    arx: C = D = F = 1,   armax: D = F = 1,   oe: A = C = D = 1,   bj: A = 1;    minimized: e = D / C (A y - B / F u)

Shapes: T steps of one input u and one output y.
Reference: Ljung, System Identification: Theory for the User (1999), chapters 4 and 7.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from scipy.signal import lfilter

from ... import plots
from ...catalog import check_known
from ...errors import InputError
from ...plots import Figure
from ...results import Result

Structure = Literal["arx", "armax", "oe", "bj"]
PARTS = {"arx": "ab", "armax": "abc", "oe": "bf", "bj": "bcdf"}  # polynomials with coefficients
MOST_DRAWN = 200  # last steps
LARGEST_ROOT = 0.999  # of C and F, so that errors and simulations do not explode


class LinearSystem(Result):
    """An identified system."""

    structure: str
    delay: int
    parts: dict[str, np.ndarray]  # coefficients of its polynomials after the leading one, of b all
    u: np.ndarray
    y: np.ndarray

    def simulate(self, u: ArrayLike) -> np.ndarray:
        """The output without noise, from rest: B / (A F) u."""
        a, b, _, _, f = _polynomials(self.parts)
        return np.asarray(lfilter(b, np.convolve(a, f), _delayed(u, self.delay)))

    def errors(self, u: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Errors of the predictions one step ahead, with zeros before the first step."""
        return _errors(self.parts, _delayed(u, self.delay), np.asarray(y, float))

    def predict(self, u: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Predictions of y one step ahead."""
        return np.asarray(y, float) - self.errors(u, y)

    def fits(self) -> tuple[float, float]:
        """Root mean squared errors one step ahead and of the simulation, on the data of the fit."""
        ahead, simulated = self.errors(self.u, self.y), self.y - self.simulate(self.u)
        return float(np.sqrt((ahead**2).mean())), float(np.sqrt((simulated**2).mean()))

    @property
    def caption(self) -> str:
        ahead, simulated = self.fits()
        return f"{self.structure}: RMSE {ahead:.4g} one step ahead, {simulated:.4g} in simulation."

    def columns(self) -> dict[str, Any]:
        """One row per coefficient."""
        names = [f"{name}{k + (name != 'b')}" for name, values in self.parts.items() for k in range(len(values))]
        return {"coefficient": names, "value": np.concatenate([*self.parts.values()])}

    def figure(self) -> Figure:
        """Output, prediction one step ahead and simulation."""
        lines = {"y": self.y, "one step ahead": self.predict(self.u, self.y), "simulated": self.simulate(self.u)}
        shown = {name: values[-MOST_DRAWN:].tolist() for name, values in lines.items()}
        at = np.arange(len(self.y))[-MOST_DRAWN:].tolist()
        return plots.curves({"step": at, **shown}, x="step", label="output", title=self.caption)


def identify(
    u: ArrayLike, y: ArrayLike, structure: Structure = "arx", *, orders: tuple[int, ...] = (2, 2), delay: int = 1
) -> LinearSystem:
    """A linear system from its input and output.

    Args:
        u: Input (T,).
        y: Output (T,).
        structure: arx, armax, oe or bj.
        orders: Numbers of coefficients of the polynomials, in the order of the alphabet: arx (a, b), armax (a, b, c),
            oe (b, f), bj (b, c, d, f).
        delay: Steps from the input to its first effect.

    Example:
        >>> u = np.random.default_rng(0).normal(size=200)
        >>> y = lfilter([0, 0.5], [1, -0.8], u)
        >>> identify(u, y, orders=(1, 1)).table().columns["value"]
        [-0.8, 0.5]
    """
    check_known("structure", structure, get_args(Structure))
    u, y = (np.asarray(v, float) for v in (u, y))
    names = PARTS[structure]
    if u.shape != y.shape or u.ndim != 1 or len(orders) != len(names):
        raise InputError(
            f"u has shape {u.shape}, y {y.shape}, orders {orders}; {structure} needs two arrays (T,) and the orders of "
            f"{', '.join(names)}."
        )
    if len(y) < 2 * sum(orders) + delay + 2 or not np.isfinite(u).all() or not np.isfinite(y).all():
        raise InputError(f"{len(y)} finite steps are too few for {sum(orders)} coefficients, or some are missing.")
    n, late = dict(zip(names, orders, strict=True)), _delayed(u, delay)

    def parts(theta: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(names, np.split(theta, np.cumsum(orders)[:-1]), strict=True))

    def errors(theta: np.ndarray) -> np.ndarray:
        now = parts(theta)
        roots = np.concatenate([np.roots(np.r_[1, now.get(k, [])]) for k in "cf"])
        if (np.abs(roots) > LARGEST_ROOT).any():
            return np.full(len(y), 1e3 * (1 + np.abs(y).max()))
        return _errors(now, late, y)

    poles, zeros = _arx(late, y, n.get("a", n.get("f", 0)), n["b"])
    first = {"a": poles, "f": poles, "b": zeros}
    theta = np.concatenate([first.get(k, np.zeros(n[k])) for k in names])
    theta = theta if structure == "arx" else least_squares(errors, theta, x_scale="jac").x
    return LinearSystem(structure=structure, delay=delay, parts=parts(theta), u=u, y=y)


def _arx(u: np.ndarray, y: np.ndarray, n_a: int, n_b: int) -> tuple[np.ndarray, np.ndarray]:
    """Least squares of y_t on -y_{t-1}, ... and u_t, u_{t-1}, ..."""
    p = max(n_a, n_b - 1)
    past = [-y[p - k : len(y) - k] for k in range(1, n_a + 1)] + [u[p - k : len(u) - k] for k in range(n_b)]
    theta = np.linalg.lstsq(np.stack(past, 1), y[p:], rcond=None)[0]
    return theta[:n_a], theta[n_a:]


def _polynomials(parts: dict[str, np.ndarray]) -> list[np.ndarray]:
    """A, B, C, D and F, whose coefficients after the leading 1 of all but B are given."""
    return [np.r_[[1.0] * (k != "b"), parts.get(k, [])] for k in "abcdf"]


def _errors(parts: dict[str, np.ndarray], u: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b, c, d, f = _polynomials(parts)
    return np.asarray(lfilter(d, c, np.asarray(lfilter(a, [1], y)) - np.asarray(lfilter(b, f, u))))


def _delayed(u: ArrayLike, delay: int) -> np.ndarray:
    u = np.asarray(u, float)
    return np.concatenate([np.zeros(delay), u[: len(u) - delay]])
