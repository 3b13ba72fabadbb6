"""Autoregression by least squares: a value from those before it, with the order that predicts best.

    y_t = c + Σ_k a_k y_{t-k} + b'u_t + e_t,   k = 1 ... p:      AICc = n log(RSS / n) + 2 q + 2 q (q + 1) / (n - q - 1)

Shapes: T steps, D columns, K inputs u, p lags, q = 1 + p D + K coefficients per column.
Reference: Hurvich and Tsai, Regression and time series model selection in small samples, Biometrika 76 (1989).
"""

import numpy as np

__all__ = ["aicc", "autoregression", "lag_matrix"]


def lag_matrix(y: np.ndarray, lags: int) -> np.ndarray:
    """The `lags` rows before each row from number `lags` on, the latest first: (T, D) -> (T - p, p D).

    Example:
        >>> lag_matrix(np.arange(5.0)[:, None], 2).tolist()
        [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]
    """
    n = len(y) - lags
    return np.concatenate([y[lags - k : lags - k + n] for k in range(1, lags + 1)] or [np.empty((n, 0))], axis=1)


def autoregression(y: np.ndarray, lags: int, u: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (1 + p D + K, D) by least squares, and residuals (T - p, D); rows with NaN are left out.

    Args:
        y: Values (T, D).
        lags: p.
        u: Inputs (T, K) that act at once.
    """
    x = lag_matrix(y, lags)
    x = np.column_stack([np.ones(len(x)), x, *([] if u is None else [u[lags:]])])
    known = np.asarray(np.isfinite(np.concatenate([x, y[lags:]], 1)).all(1))
    coef = np.linalg.lstsq(x[known], y[lags:][known], rcond=None)[0]
    return coef, np.where(known[:, None], y[lags:] - x @ coef, np.nan)


def aicc(residuals: np.ndarray, q: int) -> float:
    """The corrected criterion of Akaike for one column of Gaussian residuals; smaller is better."""
    e = residuals[np.isfinite(residuals)]
    n = len(e)
    if n <= q + 1:
        return np.inf
    return n * np.log(max(float(e @ e) / n, 1e-300)) + 2 * q + 2 * q * (q + 1) / (n - q - 1)
