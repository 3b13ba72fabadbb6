"""Tests of what a forecaster leaves: errors one step ahead should be white, and know nothing of the inputs.

    r(k) = Σ_t e_t e_{t+k} / Σ_t e_t²,     c(k) = Σ_t e_t u_{t-k} / sqrt(Σ e² Σ u²)     95 of 100 are below 1.96 / √T
    Ljung-Box:  Q = T (T + 2) Σ_k r(k)² / (T - k)  ~  χ²(K)

Shapes: T errors, K lags.
References: Ljung and Box, On a measure of lack of fit in time series models, Biometrika 65 (1978); Ljung, System
Identification (1999), section 16.6.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from ...errors import InputError
from ...explain import explanation
from ...plots import GREY, PALETTE, Figure, canvas, drawn
from ...results import Result


class ResidualTests(Result):
    """Autocorrelation of errors, and their correlation with earlier inputs."""

    n: int  # errors
    auto: np.ndarray  # (K,) lags 1 ... K
    cross: dict[str, np.ndarray]  # of each input (K + 1,), lags 0 ... K

    @classmethod
    def of(cls, errors: ArrayLike, inputs: Mapping[str, Any] | None = None, *, lags: int = 20) -> Self:
        """Tests of errors (T,) and of inputs by their names, each (T,).

        Example:
            >>> bool(ResidualTests.of(np.random.default_rng(0).normal(size=500)).p > 0.05)
            True
        """
        e = np.asarray(errors, float)
        if e.ndim != 1 or len(e) < 10 or not np.isfinite(e).all():
            raise InputError(f"errors has shape {e.shape}; at least 10 finite numbers (T,) are needed.")
        e, k = e - e.mean(), min(lags, len(e) // 4)
        total = float(e @ e) or 1.0
        auto = np.array([e[:-lag] @ e[lag:] for lag in range(1, k + 1)]) / total
        cross = {}
        for name, values in (inputs or {}).items():
            u = np.asarray(values, float) - np.mean(values)
            scale = np.sqrt(total * float(u @ u)) or 1.0
            cross[name] = np.array([e[lag:] @ u[: len(u) - lag] for lag in range(k + 1)]) / scale
        return cls(n=len(e), auto=auto, cross=cross)

    @property
    def band(self) -> float:
        """Correlations of white errors stay below this in 95 of 100 cases."""
        return 1.96 / np.sqrt(self.n)

    @property
    def p(self) -> float:
        """Of the test of Ljung and Box that the errors are white."""
        k = np.arange(1, len(self.auto) + 1)
        return float(chi2.sf(self.n * (self.n + 2) * (self.auto**2 / (self.n - k)).sum(), len(k)))

    @property
    def caption(self) -> str:
        said = "look white" if self.p > 0.05 else "are not white: the model misses something"
        known = [name for name, c in self.cross.items() if (np.abs(c) > self.band).mean() > 0.1]
        more = f"; they depend on {', '.join(known)}" if known else ""
        return f"{self.n} errors one step ahead {said} (Ljung-Box p = {self.p:.2g}){more}."

    def columns(self) -> dict[str, Any]:
        """One row per lag."""
        cross = {f"correlation with {name}": c for name, c in self.cross.items()}
        return {"lag": range(len(self.auto) + 1), "autocorrelation": np.r_[1.0, self.auto], **cross}

    @drawn
    def figure(self) -> Figure:
        """A panel per correlation, with the band of white errors."""
        panels = {"errors and earlier errors": (np.arange(1, len(self.auto) + 1), self.auto)}
        panels |= {f"errors and earlier {name}": (np.arange(len(c)), c) for name, c in self.cross.items()}
        figure, grid = canvas(len(panels), across=2, width=4.6, height=2.8)
        for axes, (title, (lags, values)) in zip(grid, panels.items(), strict=True):
            axes.axhspan(-self.band, self.band, color=GREY, alpha=0.25, lw=0)
            axes.vlines(lags, 0, values, color=PALETTE[0], lw=2)
            axes.plot(lags, values, "o", ms=3, color=PALETTE[0])
            most = max(1.2 * float(np.abs(values).max()), 2 * self.band)
            axes.set(title=title, xlabel="lag (steps)", ylabel="correlation", ylim=(-most, most))
        return figure


@explanation("residual-tests")
def residual_tests(model: Any, X: Any, *, lags: int = 20) -> ResidualTests:
    """Tests of the errors of a forecaster one step ahead, on the first column of X.

    Args:
        model: A fitted forecaster.
        X: A series.
        lags: How far correlations are computed.
    """
    found = model.rolled(X, 1)
    error = (found["y"] - found["predicted"]).reshape(len(found["y"]), -1)[:, 0]
    known = {name: np.asarray(X[name])[found["kept"]] for name in model.known_ahead if hasattr(X, "columns")}
    return ResidualTests.of(error, known, lags=lags)
